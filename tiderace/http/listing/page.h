// ListingPage: the looks of a directory: head, rows and tail, in HTML or JSON. Knows no files.
//
// Every name is escaped for where it stands: HTML text, a URL inside an attribute, a JSON string.
// A name that no path may hold (wire/canonical_path.h) is shown without a link, which would only
// lead to a 400, and with a note.
// The page works without JavaScript; a few lines of it, allowed by a nonce, add a filter box.
//
// Thread   One at a time; no state but its own counts.
// Limits   A row takes row_bytes_max at most: names of up to 255 bytes, escaped.
#pragma once

#include <string>

#include "tiderace/http/listing/rows.h"
#include "tiderace/http/wire/bounded_text.h"

namespace tiderace::http::listing {

struct ListingDescription {
    std::string host;  // as the client called it
    std::string path;  // canonical, ends with '/'
    ListingOrder order;
    bool sorted = true;
    std::string readme_name;  // "" for none
    std::string readme;
    bool readme_cut = false;  // it goes on
    std::string nonce;
};

struct ListingTotals {
    std::uint64_t directories = 0;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    bool complete = true;  // false: reading the directory failed midway
};

class ListingFormat {
  public:
    static constexpr std::size_t row_bytes_max = 8192;

    virtual ~ListingFormat() = default;
    virtual bool shows_readme() const { return false; }
    virtual std::string head(const ListingDescription& listing) = 0;
    // False, and nothing appended: it does not fit (a name beyond 255 bytes).
    virtual bool append_row(wire::BoundedText& out, const ListingRow& row) = 0;
    virtual std::string tail(const ListingDescription& listing, const ListingTotals& totals) = 0;
};

class HtmlListing final : public ListingFormat {
  public:
    bool shows_readme() const override { return true; }
    std::string head(const ListingDescription& listing) override;
    bool append_row(wire::BoundedText& out, const ListingRow& row) override;
    std::string tail(const ListingDescription& listing, const ListingTotals& totals) override;
};

// {"path":"/a/","sorted":true,"entries":[
// {"name":"b","href":"./b/","type":"directory","modified":"2026-01-02T03:04:05Z"},
// {"name":"c","href":"./c","type":"file","modified":"…","bytes":12}
// ],"complete":true}                                    "href":null  where there is no address
// Without "modified" where the year has more than four digits.
class JsonListing final : public ListingFormat {
  public:
    std::string head(const ListingDescription& listing) override;
    bool append_row(wire::BoundedText& out, const ListingRow& row) override;
    std::string tail(const ListingDescription& listing, const ListingTotals& totals) override;

  private:
    bool first_ = true;
};

// "1.4 KiB", "812 B".
std::string human_size(std::uint64_t bytes);
// "2026-01-02T03:04:05Z". "": the year has more than four digits, or is before the first.
std::string iso_time(UnixSeconds time);

}  // namespace tiderace::http::listing

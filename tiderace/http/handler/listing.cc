#include "tiderace/http/handler/listing.h"

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "tiderace/base/random.h"
#include "tiderace/http/handler/listing_page.h"
#include "tiderace/http/handler/listing_rows.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/http/wire/query.h"

namespace tiderace::http::handler {
namespace {

using wire::FieldName;

constexpr std::size_t readme_bytes_max = 64_KiB;

std::string make_nonce() {
    std::array<unsigned char, 16> random;
    secure_random(random);
    std::string text;
    for (const unsigned char byte : random) {
        constexpr ByteView digits = "0123456789abcdef";
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

ListingOrder order_of(const Request& request) {
    ListingOrder order;
    std::array<char, 256> storage;
    wire::QueryPairs pairs(request.query, storage);
    while (const auto pair = pairs.next()) {
        if (pair->name == "sort") {
            order.sort = pair->value == "size"   ? ListingSort::size
                         : pair->value == "time" ? ListingSort::time
                                                 : ListingSort::name;
        } else if (pair->name == "order") {
            order.descending = pair->value == "desc";
        }
    }
    return order;
}

// The first of the usual names that there is. What cannot be read is as good as not there.
void read_readme(const FileLoader& loader, ListingDescription& listing) {
    for (const char* name : {"README.md", "README.txt", "README", "readme.md", "readme.txt"}) {
        const FileLoader::Opened opened = loader.open(listing.path, name);
        if (opened.found != Found::file) continue;
        std::string text(readme_bytes_max, '\0');
        const ssize_t got =
            loader.kernel().read_at(opened.descriptor.get(), text.data(), text.size(), 0);
        if (got < 0) return;
        text.resize(static_cast<std::size_t>(got));
        listing.readme_cut = opened.identity.bytes > text.size();
        listing.readme_name = name;
        listing.readme = std::move(text);
        return;
    }
}

class ListingSource final : public BodySource {
  public:
    ListingSource(ListingRows rows, ListingDescription listing,
                  std::unique_ptr<ListingFormat> format)
        : rows_(std::move(rows)), listing_(std::move(listing)), format_(std::move(format)) {}

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes_wanted) override {
        const std::uint64_t enough = out.bytes() + bytes_wanted;
        if (!begun_) out.append(blocks, format_->head(listing_));
        begun_ = true;
        while (out.bytes() < enough) {
            const auto row = rows_.next();
            if (!row) {
                totals_.complete = rows_.error() == 0;
                out.append(blocks, format_->tail(listing_, totals_));
                return State::end;
            }
            append(blocks, out, *row);
        }
        return State::more;
    }

  private:
    void append(core::BlockPool& blocks, core::SendQueue& out, const ListingRow& row) {
        std::array<char, ListingFormat::row_bytes_max> memory;
        wire::BoundedText text{std::span<char>(memory)};
        if (!format_->append_row(text, row)) return;
        out.append(blocks, text.view());
        ++(row.directory ? totals_.directories : totals_.files);
        totals_.bytes += row.bytes;
    }

    ListingRows rows_;
    ListingDescription listing_;
    std::unique_ptr<ListingFormat> format_;
    ListingTotals totals_;
    bool begun_ = false;
};

class NoRows final : public BodySource {
  public:
    State pull(core::BlockPool&, core::SendQueue&, std::size_t) override { return State::end; }
};

void add_fields(Response& response, bool json, const std::string& nonce) {
    response.add(FieldName::content_type, json ? "application/json" : "text/html; charset=utf-8");
    response.add(FieldName::cache_control, "no-cache");
    response.add(FieldName::vary, "Accept");
    response.add(FieldName::x_content_type_options, "nosniff");
    if (json) return;
    const std::string policy = "default-src 'none'; style-src 'nonce-" + nonce +
                               "'; script-src 'nonce-" + nonce +
                               "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    response.add("Content-Security-Policy", response.keep(policy));
}

void answer_unreadable(Exchange& exchange, int error) {
    const bool exhausted = error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR;
    exchange.respond_status(error == EACCES ? 403 : exhausted ? 503 : 500);
}

}  // namespace

void answer_listing(Exchange& exchange, const FileLoader& loader, const ListingOptions& options) {
    const Request& request = exchange.request();
    FileLoader::Opened opened = loader.open(options.path);
    if (opened.found == Found::failed) return answer_unreadable(exchange, opened.error);
    if (opened.found != Found::directory) return exchange.respond_status(404);

    ListingDescription listing;
    listing.host = request.authority.empty() ? ByteView("Home") : request.authority;
    listing.path = options.path;
    listing.order = order_of(request);
    const bool json = wire::prefers_json(request.field(FieldName::accept));
    if (!json) listing.nonce = make_nonce();
    Response response(200);
    add_fields(response, json, listing.nonce);
    if (request.method() == wire::Method::head) {
        // Of unknown length, as the answer to GET is.
        response.set_body(std::make_unique<NoRows>());
        return exchange.respond(response);
    }

    ListingRows rows(loader, std::move(opened.descriptor), listing.path, options.hidden,
                     listing.order, options.sorted_max);
    if (rows.error() != 0) return answer_unreadable(exchange, rows.error());
    listing.sorted = rows.sorted();
    std::unique_ptr<ListingFormat> format;
    if (json) {
        format = std::make_unique<JsonListing>();
    } else {
        format = std::make_unique<HtmlListing>();
        read_readme(loader, listing);
    }
    response.set_body(
        std::make_unique<ListingSource>(std::move(rows), std::move(listing), std::move(format)));
    exchange.respond(response);
}

}  // namespace tiderace::http::handler

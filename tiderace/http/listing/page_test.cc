#include "tiderace/http/listing/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace tiderace::http::listing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string row_of(ListingFormat& format, const ListingRow& row) {
    std::array<char, ListingFormat::row_bytes_max> memory;
    wire::BoundedText text{std::span<char>(memory)};
    return format.append_row(text, row) ? std::string(text.view()) : "(does not fit)";
}

TEST(ListingPage, SizesAreForPeople) {
    struct Case {
        std::uint64_t bytes;
        const char* text;
    };
    const Case cases[] = {{0, "0 B"},
                          {1023, "1023 B"},
                          {1024, "1.0 KiB"},
                          {1536, "1.5 KiB"},
                          {1024 * 1024 - 1, "1.0 MiB"},
                          {5ULL << 30, "5.0 GiB"},
                          {UINT64_MAX, "16.0 EiB"}};
    for (const Case& c : cases) EXPECT_EQ(human_size(c.bytes), c.text);
}

TEST(ListingPage, TimesAreIso) {
    EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00Z");
    EXPECT_EQ(iso_time(784'111'777), "1994-11-06T08:49:37Z");
    EXPECT_EQ(iso_time(-5), "1969-12-31T23:59:55Z");
    EXPECT_EQ(iso_time(2'147'483'648), "2038-01-19T03:14:08Z");
    EXPECT_EQ(iso_time(4'294'967'296), "2106-02-07T06:28:16Z");
    EXPECT_EQ(iso_time(10'413'792'000), "2300-01-01T00:00:00Z");
    EXPECT_EQ(iso_time(253'402'300'799), "9999-12-31T23:59:59Z");
    EXPECT_EQ(iso_time(-62'135'596'800), "0001-01-01T00:00:00Z");
    for (const UnixSeconds beyond :
         {UnixSeconds{253'402'300'800}, UnixSeconds{-62'135'596'801}, INT64_MAX, INT64_MIN}) {
        EXPECT_EQ(iso_time(beyond), "");
    }
}

TEST(ListingPage, ATimeThatCannotBeShownIsLeftOut) {
    HtmlListing html;
    JsonListing json;
    EXPECT_THAT(row_of(html, {.name = "a", .modified = INT64_MAX}), Not(HasSubstr("<time")));
    EXPECT_THAT(row_of(json, {.name = "a", .modified = INT64_MAX}), Not(HasSubstr("modified")));
    EXPECT_THAT(row_of(html, {.name = "a", .modified = -5}), HasSubstr("1969-12-31 23:59<"));
}

TEST(ListingPage, HostileNamesStayNames) {
    const char* names[] = {"\"><script>alert(1)</script>",
                           "'onmouseover='x",
                           "a&b",
                           "javascript:alert(1)",
                           "new\nline",
                           "gr\xC3\xBC\xC3\x9F",
                           "\xFF\xFE bad",
                           "exe.\xE2\x80\xAEgpj",
                           "?query#fragment",
                           "%2e%2e",
                           "a b+c",
                           "..\\x"};
    for (const char* name : names) {
        HtmlListing html;
        const std::string row = row_of(html, {.name = name, .bytes = 7});
        EXPECT_THAT(row, Not(HasSubstr("<script"))) << row;
        EXPECT_THAT(row, Not(HasSubstr("\n\"")));
        // The link ends where it should: quotes come in pairs, and none is the name's.
        EXPECT_EQ(std::count(row.begin(), row.end(), '"') % 2, 0) << row;
        EXPECT_EQ(std::count(row.begin(), row.end(), '\''), 0) << row;
        EXPECT_EQ(std::count(row.begin(), row.end(), '\n'), 1) << row;

        JsonListing json;
        const std::string object = row_of(json, {.name = name, .bytes = 7});
        EXPECT_EQ(std::count(object.begin(), object.end(), '\n'), 1) << object;
        EXPECT_THAT(object, HasSubstr("\"bytes\":7")) << object;
    }
}

// A request for it would be a 400 (wire/canonical_path.h), so nothing leads there.
TEST(ListingPage, ANameThatNoPathMayHoldHasNoLink) {
    struct Case {
        const char* name;
        bool linked;
    };
    const Case cases[] = {{"a b.txt", true},    {"gr\xC3\xBC\xC3\x9F", true}, {"100%", true},
                          {"new\nline", false}, {"\x1b[31m", false},          {"a\x7f", false},
                          {"..\\x", false},     {"\xC0\xAF", false}};
    for (const bool directory : {false, true}) {
        for (const Case& each : cases) {
            HtmlListing html;
            const std::string row = row_of(html, {.name = each.name, .directory = directory});
            EXPECT_EQ(row.find(" href=\"./") != std::string::npos, each.linked) << row;
            EXPECT_EQ(row.find("no address can hold this name") == std::string::npos, each.linked);
            JsonListing json;
            const std::string object = row_of(json, {.name = each.name, .directory = directory});
            EXPECT_EQ(object.find("\"href\":\"./") != std::string::npos, each.linked) << object;
            EXPECT_EQ(object.find("\"href\":null,") == std::string::npos, each.linked) << object;
        }
    }
}

TEST(ListingPage, TheLongestNameFits) {
    for (const char c : {'a', '"', '\1', '\xFF', '&'}) {
        const std::string name(255, c);
        HtmlListing html;
        JsonListing json;
        EXPECT_NE(row_of(html, {.name = name}), "(does not fit)");
        EXPECT_NE(row_of(json, {.name = name}), "(does not fit)");
    }
}

TEST(ListingPage, ARowThatDoesNotFitLeavesNothingOfItself) {
    const ListingRow row{.name = "a name", .bytes = 7};
    const auto expect_whole_or_nothing = [&](auto make) {
        auto measured = make();
        const std::size_t whole = row_of(measured, row).size();
        for (std::size_t room = 0; room <= whole; ++room) {
            std::array<char, ListingFormat::row_bytes_max> memory;
            wire::BoundedText text{std::span<char>(memory).first(room)};
            auto format = make();
            EXPECT_EQ(format.append_row(text, row), room == whole) << room;
            EXPECT_EQ(text.view().size(), room == whole ? whole : 0) << room;
        }
    };
    expect_whole_or_nothing([] { return HtmlListing(); });
    expect_whole_or_nothing([] { return JsonListing(); });
}

TEST(ListingPage, HeadAndTailHoldThePathAndTheTotals) {
    HtmlListing html;
    ListingDescription listing;
    listing.host = "tide.example:80";
    listing.path = "/a&b/c d/";
    listing.nonce = "n0nce";
    listing.order = {ListingSort::size, true};
    const std::string head = html.head(listing);
    EXPECT_THAT(head, HasSubstr("<a href=\"/\">tide.example:80</a>"));
    EXPECT_THAT(head, HasSubstr("<title>/a&amp;b/c d/</title>"));
    EXPECT_THAT(head, HasSubstr("href=\"/a%26b/c%20d/\">c d</a>"));
    EXPECT_THAT(head, HasSubstr("aria-sort=\"descending\""));
    EXPECT_THAT(head, HasSubstr("?sort=size&amp;order=asc"));
    EXPECT_THAT(head, HasSubstr("href=\"../\""));
    const std::string tail =
        html.tail(listing, {.directories = 1, .files = 2, .bytes = 2048, .complete = false});
    EXPECT_THAT(tail, HasSubstr("1 folder, 2 files, 2.0 KiB"));
    EXPECT_THAT(tail, HasSubstr("could not be read to its end"));
    EXPECT_THAT(tail, HasSubstr("<script nonce=\"n0nce\">"));
    listing.sorted = false;
    EXPECT_THAT(html.head(listing), HasSubstr("Too many entries to sort"));
    EXPECT_THAT(html.head(listing), Not(HasSubstr(" aria-sort=\"")));
}

}  // namespace
}  // namespace tiderace::http::listing

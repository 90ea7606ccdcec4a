#include "tiderace/http/files/range_body.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace tiderace::http::files {
namespace {

core::Ref<CachedFile> letters() {
    auto bytes = std::make_unique<char[]>(26);
    for (int i = 0; i < 26; ++i) bytes[i] = static_cast<char>('a' + i);
    FileIdentity identity;
    identity.bytes = 26;
    return core::make_ref<CachedFile>(identity, std::move(bytes));
}

std::string text_of(core::SendQueue queue) {
    std::string text;
    for (std::array<iovec, 1> piece; queue.gather(piece) == 1;) {
        text.append(static_cast<char*>(piece[0].iov_base), piece[0].iov_len);
        queue.consume(piece[0].iov_len);
    }
    return text;
}

TEST(RangeBody, OneRangeIsSentBare) {
    const auto file = letters();
    wire::RangeSet ranges;
    ranges.add({2, 4});
    Response response;
    core::SendQueue body = make_range_body(response, ranges, *file, "text/plain");
    EXPECT_EQ(response.status(), 206);
    EXPECT_EQ(response.find(wire::FieldName::content_range)->value, "bytes 2-4/26");
    EXPECT_EQ(response.find(wire::FieldName::content_type)->value, "text/plain");
    EXPECT_EQ(text_of(std::move(body)), "cde");
}

TEST(RangeBody, SeveralCarryTheirLengthWithThem) {
    const auto file = letters();
    for (std::size_t count = 2; count <= wire::ranges_max; ++count) {
        wire::RangeSet ranges;
        // Descending, so that none is joined with the one before it.
        for (std::size_t i = 0; i < count; ++i) ranges.add({24 - i, 24 - i});
        Response response;
        auto body = make_range_body(response, ranges, *file, std::string(count * 20, 't'));
        const std::uint64_t length = body.bytes();
        EXPECT_EQ(text_of(std::move(body)).size(), length) << count;
        EXPECT_FALSE(response.find(wire::FieldName::content_range));
    }
}

// Their length is known before they are made, so a part's head has a bound.
TEST(RangeBody, ATypeThatIsTooLongForAPartIsLeftOut) {
    const auto file = letters();
    wire::RangeSet ranges;
    ranges.add({9, 9});
    ranges.add({1, 1});
    for (const std::size_t more : {0U, 1U}) {
        const std::string type(wire::MultipartRanges::type_bytes_max + more, 't');
        Response response;
        const std::string body = text_of(make_range_body(response, ranges, *file, type));
        EXPECT_EQ(body.find(type) != std::string::npos, more == 0);
        EXPECT_EQ(body.find("Content-Type") != std::string::npos, more == 0);
        EXPECT_NE(body.find("\r\n\r\nj\r\n"), std::string::npos);
        EXPECT_NE(body.find("\r\n\r\nb\r\n"), std::string::npos);
    }
}

TEST(RangeBody, EveryDigitOfABoundaryIsRandom) {
    const auto file = letters();
    wire::RangeSet ranges;
    ranges.add({9, 9});
    ranges.add({1, 1});
    std::vector<std::set<char>> seen;
    for (int i = 0; i < 300; ++i) {
        Response response;
        make_range_body(response, ranges, *file, "text/plain");
        const std::string type(response.find(wire::FieldName::content_type)->value);
        const std::string boundary = type.substr(type.find('=') + 1);
        seen.resize(boundary.size());
        for (std::size_t at = 0; at < boundary.size(); ++at) seen[at].insert(boundary[at]);
    }
    std::size_t digits = 0;
    for (const std::set<char>& each : seen) {
        if (each.size() == 1) continue;  // the same in all
        EXPECT_EQ(each.size(), 16U);
        ++digits;
    }
    EXPECT_GE(digits, 16U);
}

TEST(RangeBody, NoTwoAnswersShareABoundary) {
    const auto file = letters();
    wire::RangeSet ranges;
    ranges.add({9, 9});
    ranges.add({1, 1});
    Response a, b;
    make_range_body(a, ranges, *file, "text/plain");
    make_range_body(b, ranges, *file, "text/plain");
    EXPECT_NE(a.find(wire::FieldName::content_type)->value,
              b.find(wire::FieldName::content_type)->value);
}

}  // namespace
}  // namespace tiderace::http::files

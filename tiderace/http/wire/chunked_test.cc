#include "tiderace/http/wire/chunked.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/base/random.h"

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;
using ChunkStatus = ChunkedDecoder::Status;

struct Decoded {
    ChunkStatus status = ChunkStatus::need_more;
    Refusal refusal = Refusal::none;
    std::string data;
    std::vector<std::string> trailers;  // "name=value"
    std::size_t used = 0;
    bool operator==(const Decoded&) const = default;
};

// What a connection does: feeds `bytes` in pieces that end at `cuts`, and keeps what was not used
// for the next piece.
Decoded decode(ByteView bytes, const std::vector<std::size_t>& cuts, const ChunkLimits& limits) {
    ChunkedDecoder decoder;
    Decoded decoded;
    std::vector<std::size_t> ends = cuts;
    ends.push_back(bytes.size());
    for (const std::size_t end : ends) {
        while (true) {
            const std::string piece(bytes.substr(decoded.used, end - decoded.used));
            const ChunkedDecoder::Step step = decoder.step(piece, limits);
            EXPECT_LE(step.used, piece.size());
            decoded.used += step.used;
            decoded.status = step.status;
            decoded.refusal = step.refusal;
            if (step.status == ChunkStatus::data) {
                EXPECT_FALSE(step.data.empty());
                decoded.data += step.data;
            } else if (step.status == ChunkStatus::trailer) {
                decoded.trailers.push_back(std::string(step.trailer.name) + "=" +
                                           std::string(step.trailer.value));
            } else {
                break;
            }
        }
        if (decoded.status != ChunkStatus::need_more) break;
    }
    return decoded;
}

// Whole, cut in two at every byte, and byte by byte: all must come to the same.
Decoded decode_at_every_split(const std::string& bytes, const ChunkLimits& limits = {}) {
    const Decoded whole = decode(bytes, {}, limits);
    std::vector<std::size_t> every;
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        const Decoded split = decode(bytes, {cut}, limits);
        EXPECT_EQ(split, whole) << "cut at " << cut << ", data " << split.data;
        every.push_back(cut);
    }
    EXPECT_EQ(decode(bytes, every, limits), whole) << "byte by byte";
    return whole;
}

TEST(Chunked, DecodesDataAtEverySplit) {
    struct Case {
        std::string bytes;
        std::string data;
    };
    const Case cases[] = {
        {"0\r\n\r\n", ""},
        {"000\r\n\r\n", ""},
        {"5\r\nhello\r\n0\r\n\r\n", "hello"},
        {"5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n", "hello, world"},
        {"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"},
        {"0000000000000001\r\nx\r\n0\r\n\r\n", "x"},
        {"4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"},
        {"3\r\n0\r\n\r\n0\r\n\r\n", "0\r\n"},
        {"1\r\n\0\r\n0\r\n\r\n"s, "\0"s},
    };
    for (const Case& c : cases) {
        const Decoded decoded = decode_at_every_split(c.bytes);
        EXPECT_EQ(decoded.status, ChunkStatus::done) << c.bytes;
        EXPECT_EQ(decoded.data, c.data) << c.bytes;
        EXPECT_EQ(decoded.used, c.bytes.size()) << c.bytes;
    }
}

TEST(Chunked, PassesOverExtensionsOfTheRightForm) {
    for (const std::string extension :
         {";a", ";a=b", ";a=\"b c\"", ";a;b=c;d", " ;a", "\t; a\t=\tb ;c", ";a = \"b\" ;c",
          ";a=\"\\\"\\\\;\xc3\xa9\t\"", ";a=\"\"", ";!#$%&'*+-.^_`|~9=x"}) {
        std::string bytes = "5" + extension;
        bytes += "\r\nhello\r\n0" + extension;
        bytes += "\r\n\r\n";
        const Decoded decoded = decode_at_every_split(bytes);
        EXPECT_EQ(decoded.status, ChunkStatus::done) << extension << to_string(decoded.refusal);
        EXPECT_EQ(decoded.data, "hello") << extension;
    }
}

struct RefusedBody {
    std::string bytes;
    Refusal refusal;
};

const RefusedBody refused_bodies[] = {
    {"\r\nhello", Refusal::bad_chunk_size},
    {";a\r\n", Refusal::bad_chunk_size},
    {" 5\r\nhello\r\n", Refusal::bad_chunk_size},
    {"\t5\r\nhello\r\n", Refusal::bad_chunk_size},
    {"+5\r\nhello\r\n", Refusal::bad_chunk_size},
    {"-5\r\nhello\r\n", Refusal::bad_chunk_size},
    {"0x5\r\nhello\r\n", Refusal::bad_chunk_size},
    {"0X5\r\nhello\r\n", Refusal::bad_chunk_size},
    {"x5\r\nhello\r\n", Refusal::bad_chunk_size},
    {"5g\r\nhello\r\n", Refusal::bad_chunk_size},
    {"5h\r\n", Refusal::bad_chunk_size},
    {"5_0\r\n", Refusal::bad_chunk_size},
    {"5,5\r\n", Refusal::bad_chunk_size},
    {"\xef\xbc\x95\r\n", Refusal::bad_chunk_size},
    {"8000000000000000\r\n", Refusal::bad_chunk_size},
    {"ffffffffffffffff\r\n", Refusal::bad_chunk_size},
    {"10000000000000005\r\nhello\r\n", Refusal::bad_chunk_size},
    {"00000000000000005\r\nhello\r\n", Refusal::bad_chunk_size},
    {"5\0\r\nhello\r\n"s, Refusal::nul},
    {"\0"s, Refusal::nul},
    {"5\nhello\r\n", Refusal::bare_lf},
    {"5\rhello\r\n", Refusal::bare_cr},
    {"5\r\rhello\r\n", Refusal::bare_cr},
    {"5 \r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5\t\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5 5\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5; \r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;;a\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;=b\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a=\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a b\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a \r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a=b \r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a==b\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a=b=c\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a=\"b\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a=\"\x01\"\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a=\"\\\x7f\"\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a=\"b\"c\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a(b\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;\xc3\xa9\r\nhello\r\n", Refusal::bad_chunk_extension},
    {"5;a\nhello\r\n", Refusal::bare_lf},
    {"5;a=\"\n\"\r\nhello\r\n", Refusal::bare_lf},
    {"5;a=\"\\\n\"\r\nhello\r\n", Refusal::bare_lf},
    {"5;\nhello\r\n", Refusal::bare_lf},
    {"5;a\rhello\r\n", Refusal::bare_cr},
    {"5;a\0\r\nhello\r\n"s, Refusal::nul},
    {"5\r\nhelloXX0\r\n\r\n", Refusal::bad_chunk_data},
    {"5\r\nhello\n0\r\n\r\n", Refusal::bad_chunk_data},
    {"5\r\nhello\rX0\r\n\r\n", Refusal::bad_chunk_data},
    {"5\r\nhello0\r\n\r\n", Refusal::bad_chunk_data},
    {"4\r\nhello\r\n0\r\n\r\n", Refusal::bad_chunk_data},
    {"6\r\nhello\r\n0\r\n\r\n", Refusal::bad_chunk_data},
    {"5\r\nhello\r\n\r\n", Refusal::bad_chunk_size},
    {"0\r\nX", Refusal::none},  // a trailer may still come of it
    {"0\r\n\n", Refusal::bare_lf},
    {"0\r\n\rX", Refusal::bare_cr},
    {"0\r\nXX\r\n", Refusal::bad_field_name},
    {"0\r\n X: a\r\n\r\n", Refusal::obs_fold},
    {"0\r\nX: a\r\n b\r\n\r\n", Refusal::obs_fold},
    {"0\r\nX : a\r\n\r\n", Refusal::space_before_colon},
    {"0\r\nX: a\n\r\n", Refusal::bare_lf},
    {"0\r\nX: a\rb\r\n\r\n", Refusal::bare_cr},
    {"0\r\nX: a\0b\r\n\r\n"s, Refusal::nul},
    {"0\r\nX: \x01\r\n\r\n", Refusal::bad_field_value},
    {"0\r\nContent-Length: 5\r\n\r\n", Refusal::bad_trailer},
    {"0\r\ntransfer-encoding: chunked\r\n\r\n", Refusal::bad_trailer},
    {"0\r\nX: a\r\nHost: b\r\n\r\n", Refusal::bad_trailer},
};

TEST(Chunked, RefusesTheSameAtEverySplit) {
    for (const RefusedBody& c : refused_bodies) {
        const Decoded decoded = decode_at_every_split(c.bytes);
        EXPECT_EQ(to_string(decoded.refusal), to_string(c.refusal)) << c.bytes;
        EXPECT_NE(decoded.status, ChunkStatus::done) << c.bytes;
    }
}

TEST(Chunked, HandsTrailersOutApart) {
    const Decoded decoded =
        decode_at_every_split("1\r\nx\r\n0\r\nX-Sum: 5 \r\nAuthorization:a\r\nX-Sum:\r\n\r\nGET /");
    EXPECT_EQ(decoded.status, ChunkStatus::done);
    EXPECT_EQ(decoded.data, "x");
    EXPECT_EQ(decoded.trailers, (std::vector<std::string>{"X-Sum=5", "Authorization=a", "X-Sum="}));
}

TEST(Chunked, UsesNothingOfTheNextRequest) {
    const std::string body = "5\r\nhello\r\n0\r\n\r\n";
    const Decoded decoded = decode_at_every_split(body + "GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(decoded.status, ChunkStatus::done);
    EXPECT_EQ(decoded.used, body.size());
}

TEST(Chunked, StaysWhereItEnded) {
    ChunkedDecoder done;
    EXPECT_EQ(done.step("0\r\n\r\n").status, ChunkStatus::done);
    EXPECT_EQ(done.step("5\r\n").status, ChunkStatus::done);
    EXPECT_EQ(done.step("5\r\n").used, 0U);
    ChunkedDecoder refused;
    EXPECT_EQ(refused.step("x").status, ChunkStatus::refused);
    EXPECT_EQ(refused.step("0\r\n\r\n").refusal, Refusal::bad_chunk_size);
}

TEST(Chunked, TheLargestChunkIsStillReadAsData) {
    ChunkedDecoder decoder;
    const ChunkedDecoder::Step step = decoder.step("7fffffffffffffff\r\nab");
    EXPECT_EQ(step.status, ChunkStatus::data);
    EXPECT_EQ(step.data, "ab");
    EXPECT_EQ(decoder.step("").status, ChunkStatus::need_more);
}

TEST(ChunkLimits, BoundTheExtensionsOfAllChunksTogether) {
    const ChunkLimits limits{.extension_bytes_max = 10};
    // Three bytes each and a CR: the semicolon ends the size and is not counted.
    const std::string chunk = "1;abc\r\nx\r\n";
    EXPECT_EQ(decode_at_every_split(chunk + chunk + "0\r\n\r\n", limits).status, ChunkStatus::done);
    EXPECT_EQ(decode_at_every_split(chunk + chunk + chunk + "0\r\n\r\n", limits).refusal,
              Refusal::chunk_extensions_too_large);
    // The limit itself is taken, and not a byte more.
    EXPECT_EQ(decode_at_every_split(chunk + chunk + "0\r\n\r\n", {.extension_bytes_max = 8}).status,
              ChunkStatus::done);
    EXPECT_EQ(
        decode_at_every_split(chunk + chunk + "0\r\n\r\n", {.extension_bytes_max = 7}).refusal,
        Refusal::chunk_extensions_too_large);
    EXPECT_EQ(decode_at_every_split("1;a=\"aaaaaaaaaaaaaa", limits).refusal,
              Refusal::chunk_extensions_too_large);
}

TEST(ChunkLimits, BoundTheTrailerSection) {
    const std::string trailers = "X: 0123456789\r\nY: 0123456789\r\n\r\n";
    const auto size = static_cast<std::uint32_t>(trailers.size());
    EXPECT_EQ(decode_at_every_split("0\r\n" + trailers, {.trailer_bytes_max = size}).status,
              ChunkStatus::done);
    for (std::uint32_t less = 1; less < size; ++less) {
        EXPECT_EQ(decode_at_every_split("0\r\n" + trailers, {.trailer_bytes_max = less}).refusal,
                  Refusal::trailers_too_large)
            << less;
    }
}

TEST(Chunked, WhatIsWrittenIsReadBack) {
    Random random(3);
    for (int round = 0; round < 200; ++round) {
        std::string expected;
        std::string bytes;
        for (std::uint64_t chunks = random.below(4); chunks > 0; --chunks) {
            const std::string data(1 + random.below(300), static_cast<char>(random.below(256)));
            char head[chunk_head_bytes_max];
            bytes.append(head, format_chunk_head(data.size(), head));
            bytes += data;
            bytes += chunk_end;
            expected += data;
        }
        bytes += last_chunk;
        const Decoded decoded = decode(bytes, {random.below(bytes.size())}, {});
        EXPECT_EQ(decoded.status, ChunkStatus::done);
        EXPECT_EQ(decoded.data, expected);
    }
}

TEST(Chunked, HeadsAreHexadecimalLines) {
    char out[chunk_head_bytes_max];
    const auto head = [&](std::uint64_t size) {
        return std::string(out, format_chunk_head(size, out));
    };
    EXPECT_EQ(head(1), "1\r\n");
    EXPECT_EQ(head(500), "1f4\r\n");
    EXPECT_EQ(head(UINT64_MAX), "ffffffffffffffff\r\n");
    EXPECT_DEATH(head(0), "last_chunk");
}

}  // namespace
}  // namespace tiderace::http::wire

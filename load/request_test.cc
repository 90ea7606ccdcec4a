#include "load/request.h"

#include <gtest/gtest.h>

#include <array>

#include "tiderace/http/wire/h2/hpack_decoder.h"

namespace tiderace::load {
namespace {

using http::wire::HpackDecoder;

LoadTarget target() {
    LoadTarget made{.address = core::Address::loopback(81), .host = "127.0.0.1:81", .path = "/x"};
    return made;
}

std::string decoded(HpackDecoder& decoder, const std::string& block) {
    std::array<char, 8'192> arena;
    std::string fields;
    auto reading = decoder.read(block, arena, 4'096);
    while (reading.next() == HpackDecoder::Status::field) {
        fields.append(reading.field().name).append("=").append(reading.field().value) += '\n';
    }
    EXPECT_EQ(reading.status(), HpackDecoder::Status::end);
    return fields;
}

TEST(LoadRequest, IsRenderedForEachHttp1) {
    const struct {
        LoadOptions options;
        std::string head;
    } cases[] = {
        {{.fields = {"Accept: a/b"}},
         "GET /x HTTP/1.1\r\nHost: 127.0.0.1:81\r\nAccept: a/b\r\n\r\n"},
        {{.method = "HEAD", .close = true},
         "HEAD /x HTTP/1.1\r\nHost: 127.0.0.1:81\r\nConnection: close\r\n\r\n"},
        {{.http = LoadHttp::v1_0},
         "GET /x HTTP/1.0\r\nHost: 127.0.0.1:81\r\nConnection: keep-alive\r\n\r\n"},
        {{.http = LoadHttp::v1_0, .close = true}, "GET /x HTTP/1.0\r\nHost: 127.0.0.1:81\r\n\r\n"},
        {{.body_bytes = 3}, "POST /x HTTP/1.1\r\nHost: 127.0.0.1:81\r\nContent-Length: 3\r\n\r\n"},
        {{.method = "POST"}, "POST /x HTTP/1.1\r\nHost: 127.0.0.1:81\r\nContent-Length: 0\r\n\r\n"},
        {{.method = "DELETE"}, "DELETE /x HTTP/1.1\r\nHost: 127.0.0.1:81\r\n\r\n"},
        {{.host = "a.example"}, "GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n"},
        {{.host = ""}, "GET /x HTTP/1.1\r\nHost: \r\n\r\n"},
        {{.method = "PUT", .body_bytes = 3},
         "PUT /x HTTP/1.1\r\nHost: 127.0.0.1:81\r\nContent-Length: 3\r\n\r\n"},
    };
    for (const auto& each : cases) {
        const LoadRequest request = render_request(target(), each.options);
        EXPECT_EQ(request.head, each.head);
        EXPECT_EQ(request.is_head, each.options.method == "HEAD");
        EXPECT_EQ(request.body.size(), each.options.body_bytes);
        EXPECT_EQ(request.batch, request.head + request.body);
        EXPECT_EQ(request.bytes, request.batch.size());
    }
}

TEST(LoadRequest, ABatchIsAConnectionsRequestsInFlight) {
    LoadRequest request = render_request(target(), {.body_bytes = 10, .pipeline = 3});
    const std::string one = request.head + request.body;
    EXPECT_EQ(request.batch, one + one + one);
    request = render_request(target(), {.body_bytes = 100'000, .pipeline = 3});
    EXPECT_EQ(request.batch, "");
    EXPECT_EQ(request.body.size(), 100'000U);
}

TEST(LoadRequest, AnHttp2ServerReadsTheSameFieldsEachTime) {
    const LoadOptions options{.http = LoadHttp::v2,
                              .fields = {"Accept: a/b", "X-Long: " + std::string(5'000, 'l')},
                              .body_bytes = 7};
    const LoadRequest request = render_request(target(), options);
    const std::string wanted =
        ":method=POST\n:scheme=http\n:authority=127.0.0.1:81\n:path=/x\naccept=a/b\nx-long=" +
        std::string(5'000, 'l') + "\ncontent-length=7\n";
    std::array<char, 16'384> arena;
    HpackDecoder decoder;
    const auto read = [&](const std::string& block) {
        std::string fields;
        auto reading = decoder.read(block, arena, 8'192);
        while (reading.next() == HpackDecoder::Status::field) {
            fields.append(reading.field().name).append("=").append(reading.field().value) += '\n';
        }
        EXPECT_EQ(reading.status(), HpackDecoder::Status::end);
        return fields;
    };
    EXPECT_EQ(read(request.block_first), wanted);
    EXPECT_EQ(read(request.block_again), wanted);
    EXPECT_EQ(read(request.block_again), wanted);
    EXPECT_EQ(read(request.block_plain), wanted);
}

TEST(LoadRequest, AnHttp2ServerReadsTheHostAndTheLengthThatHttp1Has) {
    HpackDecoder decoder;
    const LoadRequest request =
        render_request(target(), {.http = LoadHttp::v2, .method = "POST", .host = "a.example"});
    EXPECT_FALSE(request.has_body);
    EXPECT_EQ(decoded(decoder, request.block_first),
              ":method=POST\n:scheme=http\n:authority=a.example\n:path=/x\ncontent-length=0\n");
}

TEST(LoadRequest, AgainIsAFewBytes) {
    LoadTarget secure = target();
    secure.tls = true;
    const LoadRequest request = render_request(secure, {.http = LoadHttp::v2});
    HpackDecoder decoder;
    const std::string first = decoded(decoder, request.block_first);
    EXPECT_EQ(first, ":method=GET\n:scheme=https\n:authority=127.0.0.1:81\n:path=/x\n");
    EXPECT_EQ(decoded(decoder, request.block_again), first);
    EXPECT_EQ(request.block_again.size(), 4U);
}

}  // namespace
}  // namespace tiderace::load

#include "tiderace/http/wire/h2/response.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/wire/h2/literal_fields_fixture.h"

namespace tiderace::http::wire {
namespace {

struct Heard {
    H2ResponseParse parse;
    std::string fields;
};

Heard hear(const std::string& block, H2ResponsePart part = H2ResponsePart::head,
           std::size_t list_bytes_max = 1'000) {
    HpackDecoder decoder;
    std::vector<char> arena(decoder.arena_bytes(list_bytes_max));
    Heard heard;
    heard.parse = parse_h2_response(decoder, block, arena, {.list_bytes_max = list_bytes_max}, part,
                                    [&](ByteView name, ByteView value) {
                                        heard.fields.append(name).append("=").append(value) += ';';
                                    });
    return heard;
}

TEST(H2Response, AHeadIsAStatusAndFields) {
    const Heard heard =
        hear(block_of({{":status", "206"}, {"a", "1"}, {"content-length", "12"}, {"a", "2"}}));
    EXPECT_EQ(heard.parse.status, H2ResponseParse::Status::complete);
    EXPECT_EQ(heard.parse.code, 206);
    EXPECT_FALSE(heard.parse.interim());
    EXPECT_EQ(heard.parse.content_length, 12U);
    EXPECT_EQ(heard.fields, "a=1;content-length=12;a=2;");
    EXPECT_TRUE(hear(block_of({{":status", "103"}})).parse.interim());
    EXPECT_EQ(hear("\x88").parse.code, 200);  // of the static table
}

TEST(H2Response, TrailersHaveNoStatus) {
    const Heard heard = hear(block_of({{"a", "1"}}), H2ResponsePart::trailers);
    EXPECT_EQ(heard.parse.status, H2ResponseParse::Status::complete);
    EXPECT_EQ(heard.fields, "a=1;");
    for (const Fields& bad : {Fields{{":status", "200"}}, Fields{{"content-length", "1"}}}) {
        EXPECT_EQ(hear(block_of(bad), H2ResponsePart::trailers).parse.status,
                  H2ResponseParse::Status::malformed);
    }
}

TEST(H2Response, WhatSectionEightForbidsIsMalformed) {
    const Fields cases[] = {
        {},
        {{"a", "1"}},
        {{":status", "20"}},
        {{":status", "2000"}},
        {{":status", "099"}},
        {{":status", "2x0"}},
        {{":status", "101"}},  // 8.6: HTTP/2 has no Upgrade
        {{":status", "+20"}},
        {{":status", "200"}, {":status", "200"}},
        {{"a", "1"}, {":status", "200"}},
        {{":status", "200"}, {":path", "/"}},
        {{":status", "200"}, {":unknown", "/"}},
        {{":status", "200"}, {"Upper", "1"}},
        {{":status", "200"}, {"a", "1\n2"}},
        {{":status", "200"}, {"", "1"}},
        {{":status", "200"}, {"connection", "close"}},
        {{":status", "200"}, {"keep-alive", "1"}},
        {{":status", "200"}, {"transfer-encoding", "chunked"}},
        {{":status", "200"}, {"upgrade", "x"}},
        {{":status", "200"}, {"proxy-connection", "close"}},
        {{":status", "200"}, {"content-length", "1"}, {"content-length", "1"}},
        {{":status", "200"}, {"content-length", "-1"}},
    };
    for (const Fields& fields : cases) {
        const Heard heard = hear(block_of(fields));
        EXPECT_EQ(heard.parse.status, H2ResponseParse::Status::malformed)
            << (fields.empty() ? "" : fields.back().first + "=" + fields.back().second);
    }
}

TEST(H2Response, WhatIsTooLargeOrNoBlockIsSaid) {
    const std::string block = block_of({{":status", "200"}, {"a", std::string(100, 'x')}});
    EXPECT_EQ(hear(block, H2ResponsePart::head, 175).parse.status,
              H2ResponseParse::Status::complete);
    EXPECT_EQ(hear(block, H2ResponsePart::head, 174).parse.status,
              H2ResponseParse::Status::too_large);
    EXPECT_EQ(hear("\xff\xff\xff\xff\xff\xff").parse.status,
              H2ResponseParse::Status::compression_error);
}

}  // namespace
}  // namespace tiderace::http::wire

#include "tiderace/http/filter/made_tag.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/filter/filter_fixture.h"

namespace tiderace::http::filter {
namespace {

class MadeTagTest : public FilterTest {};

TEST_F(MadeTagTest, TheSameBytesHaveTheSameTag) {
    MadeTag first;
    MadeTag second;
    const std::string tag = ask(first, "GET").header("ETag");
    EXPECT_TRUE(tag.starts_with("W/\"")) << tag;
    EXPECT_EQ(ask(second, "GET").header("ETag"), tag);
    EXPECT_FALSE(ask(first, "POST").has("ETag"));
    auto& known = ask(first, "GET", {{"If-None-Match", "\"x\", " + tag}});
    EXPECT_EQ(known.status(), 304);
    EXPECT_EQ(known.header("ETag"), tag);
    EXPECT_EQ(known.body(), "");
    EXPECT_EQ(ask(first, "GET", {{"If-None-Match", "*"}}).status(), 304);
    auto& other = ask(first, "GET", {{"If-None-Match", "\"x\""}});
    EXPECT_EQ(other.status(), 200);
    EXPECT_EQ(other.body(), "hello");
}

TEST_F(MadeTagTest, AnAnswerKeepsItsOwnTagAndALargeOneGetsNone) {
    MadeTag filter;
    Exchange& exchange = ask(filter, "GET", {{"If-None-Match", "*"}});
    Response tagged;
    tagged.add(wire::FieldName::etag, "\"own\"");
    tagged.set_body("hello");
    filter.filter(exchange, tagged);
    EXPECT_EQ(tagged.status(), 200);
    EXPECT_EQ(tagged.find(wire::FieldName::etag)->value, "\"own\"");
    Response large;
    large.set_body(std::string(MadeTag::body_bytes_max + 1, 'x'));
    filter.filter(exchange, large);
    EXPECT_FALSE(large.find(wire::FieldName::etag));
}

}  // namespace
}  // namespace tiderace::http::filter

#include "tiderace/json/writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace tiderace::json {
namespace {

struct Point {
    int x;
    int y;
};
struct Chain {
    std::unique_ptr<Chain> next;
};

TEST(JsonWriter, WritesTokenByToken) {
    std::string text;
    Writer out(text);
    out.begin_object().key("total").value(3).key("a \"key\"").null().key("items").begin_array();
    for (int i = 0; i < 3; ++i) out.value(Point{i, -i});
    out.end_array().key("none").begin_array().end_array().key("in").begin_object().end_object();
    EXPECT_FALSE(out.is_complete());
    out.key("name").value("text").end_object();
    EXPECT_TRUE(out.is_complete());
    out.flush();
    EXPECT_EQ(
        text,
        R"({"total":3,"a \"key\"":null,"items":[{"x":0,"y":0},{"x":1,"y":-1},{"x":2,"y":-2}],)"
        R"("none":[],"in":{},"name":"text"})");
}

TEST(JsonWriter, AppendsToWhatIsThere) {
    std::string text = "data: ";
    Writer(text).begin_array().value(true).value(std::string("é")).value(1.5).end_array();
    EXPECT_EQ(text, "data: [true,\"é\",1.5]");
}

TEST(JsonWriter, SaysWhenAValueHadToBeReplaced) {
    std::string text;
    Writer out(text);
    out.begin_array().value(1.0);
    EXPECT_TRUE(out.is_exact());
    out.value(std::numeric_limits<double>::infinity()).end_array();
    EXPECT_FALSE(out.is_exact());
    out.flush();
    EXPECT_EQ(text, "[1,null]");
}

TEST(JsonWriter, EndsAtADepthThatTheStackAllows) {
    Chain first;
    Chain* last = &first;
    for (int i = 0; i < 1000; ++i) {
        last->next = std::make_unique<Chain>();
        last = last->next.get();
    }
    std::string text;
    TextOut out(text);
    write_value(out, &first, type_of<Chain>);
    EXPECT_FALSE(out.is_exact());
    out.flush();
    EXPECT_EQ(text.find("null"), write_depth_max * std::string_view("{\"next\":").size());
}

void value_without_key() {
    std::string text;
    Writer(text).begin_object().value(1);
}
void key_in_array() {
    std::string text;
    Writer(text).begin_array().key("a");
}
void wrong_end() {
    std::string text;
    Writer(text).begin_array().end_object();
}
void two_values() {
    std::string text;
    Writer(text).value(1).value(2);
}
void key_without_value() {
    std::string text;
    Writer(text).begin_object().key("a").end_object();
}
void too_many_open() {
    std::string text;
    Writer out(text);
    for (std::size_t i = 0; i <= Writer::open_max; ++i) out.begin_array();
}

TEST(JsonWriterDeathTest, WhatIsNotJsonAborts) {
    EXPECT_DEATH(value_without_key(), "needs a key");
    EXPECT_DEATH(key_in_array(), "stands in an object");
    EXPECT_DEATH(wrong_end(), "not open");
    EXPECT_DEATH(two_values(), "one value");
    EXPECT_DEATH(key_without_value(), "not open");
    EXPECT_DEATH(too_many_open(), "too many");
}

}  // namespace
}  // namespace tiderace::json

#include "lab/report/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tiderace::lab::report {
namespace {

using testing::HasSubstr;

std::string round(std::string_view text) {
    const auto value = JsonValue::parse(text);
    return value ? value->write() : "refused: " + value.error();
}

TEST(JsonValue, WhatIsReadIsWrittenTheSame) {
    for (const std::string_view text :
         {"null", "true", "false", "0", "-1.5", "9007199254740991", "1e+300", R"("")",
          R"("a\"b\\c\n")", "[]", "{}", R"([1,[2,{"a":[]}],"x"])",
          R"({"b":1,"a":{"c":null},"d":[true]})"}) {
        EXPECT_EQ(round(text), text);
    }
}

TEST(JsonValue, SpaceAndEscapesAreUnderstood) {
    EXPECT_EQ(round(" {\r\n\t\"a\" : [ 1 , 2 ] } \n"), R"({"a":[1,2]})");
    EXPECT_EQ(JsonValue::parse(R"("\u0041\u00e9\u6f6e\ud83c\udf0a\/\b")")->text(), "Aé潮🌊/\b");
    EXPECT_EQ(JsonValue::parse(R"("\ud83c")")->text(), "\uFFFD");
}

TEST(JsonValue, WhatIsNotJsonIsRefusedAtEveryCut) {
    for (const std::string_view text :
         {"", "nul", "inf", "nan", "-", "+1", "1e999", "[1,]", "[1 2]", "{\"a\"}", "{a:1}",
          "{\"a\":1,}", "\"\\x\"", "\"\\u12\"", "\"\\ud800\\u0041\"", "\"a\nb\"", "1 2", "]"}) {
        EXPECT_THAT(round(text), testing::StartsWith("refused: ")) << text;
    }
    const std::string whole = R"({"a":[1,"x\u0041",{"b":null}],"c":true})";
    ASSERT_EQ(round(whole).find("refused"), std::string::npos);
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        EXPECT_THAT(round(whole.substr(0, cut)), testing::StartsWith("refused: ")) << cut;
    }
}

TEST(JsonValue, SaysInWhichLine) {
    EXPECT_THAT(round("{\n\"a\": 1,\n\"b\" 2}"), HasSubstr("a colon is expected in line 3"));
}

TEST(JsonValue, DepthIsBounded) {
    EXPECT_THAT(round(std::string(100'000, '[')), HasSubstr("nested too deeply"));
    const std::string deep = std::string(30, '[') + std::string(30, ']');
    EXPECT_EQ(round(deep), deep);
}

TEST(JsonValue, WhatIsNotThereIsTheDefault) {
    const JsonValue value = *JsonValue::parse(R"({"n":-3,"t":"x","l":[1]})");
    EXPECT_EQ(value["absent"]["deeper"].text("none"), "none");
    EXPECT_EQ(value["t"].number(7), 7);
    EXPECT_EQ(value["n"].count(), 0U);
    EXPECT_TRUE(value["n"].list().empty());
    EXPECT_TRUE(value["l"].members().empty());
    EXPECT_TRUE(value["t"].flag(true));
}

TEST(JsonValue, NumbersKeepTheirDigits) {
    EXPECT_EQ(JsonValue(0.1).write(), "0.1");
    EXPECT_EQ(JsonValue(std::uint64_t{2'496'629}).write(), "2496629");
    EXPECT_EQ(JsonValue(std::numeric_limits<double>::infinity()).write(), "null");
}

TEST(JsonValue, IndentedTextIsTheSameValue) {
    JsonValue value = JsonValue::object();
    value.set("cells", JsonValue(JsonValue::List{JsonValue(1), JsonValue("two")}));
    value.set("empty", JsonValue::object());
    EXPECT_EQ(value.write(true), "{\n  \"cells\":[\n    1,\n    \"two\"\n  ],\n  \"empty\":{}\n}");
    EXPECT_EQ(*JsonValue::parse(value.write(true)), value);
}

}  // namespace
}  // namespace tiderace::lab::report

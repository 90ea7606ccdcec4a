#include "load/json_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace tiderace::load {
namespace {

TEST(JsonText, WritesAnObject) {
    JsonObject object;
    EXPECT_EQ(object.text(), "{}");
    object.add("n", std::uint64_t{7}).add("t", 3us).add("x", 0.5, 2).add("s", "a\"b\n");
    object.add_flag("yes", true).add_json("list", "[1,2]");
    EXPECT_EQ(object.text(),
              "{\"n\":7,\"t\":3000,\"x\":0.50,\"s\":\"a\\\"b\\n\",\"yes\":true,\"list\":[1,2]}");
}

TEST(JsonText, WritesAList) {
    JsonList list;
    EXPECT_EQ(list.text(), "[]");
    list.add(std::uint64_t{1}).add("two").add_number(0.5).add_json("{}");
    EXPECT_EQ(list.text(), R"([1,"two",0.5,{}])");
}

TEST(JsonText, NumbersKeepTheirDigits) {
    EXPECT_EQ(json_number(0.1), "0.1");
    EXPECT_EQ(json_number(-1.5), "-1.5");
    EXPECT_EQ(json_number(0), "0");
    EXPECT_EQ(json_number(2'496'629), "2496629");
    EXPECT_EQ(json_number(100'000), "100000");
    EXPECT_EQ(json_number(9'007'199'254'740'991), "9007199254740991");
    EXPECT_EQ(json_number(1e300), "1e+300");
    EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "null");
    EXPECT_EQ(json_number(std::numeric_limits<double>::quiet_NaN()), "null");
}

TEST(JsonText, AnIndentGivesEachMemberALine) {
    JsonObject object(2);
    object.add_json("cells", JsonList(4).add(std::uint64_t{1}).add("two").text());
    object.add_json("empty", JsonObject(4).text());
    EXPECT_EQ(object.text(), "{\n  \"cells\":[\n    1,\n    \"two\"\n  ],\n  \"empty\":{}\n}");
}

}  // namespace
}  // namespace tiderace::load

#include "load/json_text.h"

#include <gtest/gtest.h>

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
    list.add(std::uint64_t{1}).add("two").add_json("{}");
    EXPECT_EQ(list.text(), R"([1,"two",{}])");
}

}  // namespace
}  // namespace tiderace::load

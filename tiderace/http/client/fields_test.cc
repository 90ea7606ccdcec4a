#include "tiderace/http/client/fields.h"

#include <gtest/gtest.h>

namespace tiderace::http {
namespace {

TEST(Fields, NamesAreFoundInAnyCase) {
    Fields fields{{"Accept", "text/html"}, {"Set-Cookie", "a=1"}};
    fields.add("set-cookie", "b=2");
    EXPECT_EQ(fields.find("ACCEPT"), "text/html");
    EXPECT_EQ(fields.find("Set-Cookie"), "a=1");
    EXPECT_EQ(fields.find("X"), "");
    EXPECT_TRUE(fields.has("accept"));
    EXPECT_FALSE(fields.has("accep"));
    EXPECT_EQ(fields.all("SET-cookie"), (std::vector<std::string_view>{"a=1", "b=2"}));
    fields.set("set-Cookie", "c=3");
    EXPECT_EQ(fields.all("Set-Cookie"), (std::vector<std::string_view>{"c=3"}));
    fields.remove("ACCEPT");
    EXPECT_EQ(fields.size(), 1U);
}

TEST(Fields, LinesAreReadAsTheyStandInAHead) {
    Fields fields;
    fields.add_lines("A: 1\r\nb:\t two words \r\nEmpty:\r\n");
    EXPECT_EQ(fields.size(), 3U);
    EXPECT_EQ(fields.find("a"), "1");
    EXPECT_EQ(fields.find("B"), "two words");
    EXPECT_TRUE(fields.has("empty"));
}

TEST(Fields, WhatNoMessageMayHoldIsNotValid) {
    EXPECT_TRUE(Fields({{"A", "1"}, {"B", "\xC3\xA9 \t"}}).valid());
    EXPECT_TRUE(Fields().valid());
    EXPECT_FALSE(Fields({{"A b", "1"}}).valid());
    EXPECT_FALSE(Fields({{"", "1"}}).valid());
    EXPECT_FALSE(Fields({{"A", "1\r\nB: 2"}}).valid());
    EXPECT_FALSE(Fields({{"A", std::string("\0", 1)}}).valid());
}

}  // namespace
}  // namespace tiderace::http

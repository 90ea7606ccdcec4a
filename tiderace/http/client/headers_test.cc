#include "tiderace/http/client/headers.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tiderace::http {
namespace {

TEST(Headers, NamesAreFoundInAnyCase) {
    Headers fields{{"Accept", "text/html"}, {"Set-Cookie", "a=1"}};
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

void add_lines_of_a_head(Headers& fields, const std::string& lines) {
    const std::string head = "HTTP/1.1 200 OK\r\n" + lines + "\r\n";
    wire::ResponseReader reader;
    wire::FieldPlaces places;
    const auto step = reader.step(head, &places);
    ASSERT_EQ(step.status, wire::ResponseReader::Status::head);
    fields.add_lines(step.data, places);
}

TEST(Headers, LinesAreReadAsTheyStandInAHead) {
    Headers fields;
    add_lines_of_a_head(fields, "A: 1\r\nb:\t two words \r\nEmpty:\r\n");
    EXPECT_EQ(fields.size(), 3U);
    EXPECT_EQ(fields.find("a"), "1");
    EXPECT_EQ(fields.find("B"), "two words");
    EXPECT_TRUE(fields.has("empty"));
}

TEST(Headers, AreReadInTheirOrder) {
    Headers fields{{"A", "1"}, {"B", ""}};
    add_lines_of_a_head(fields, "C: 3\r\n");
    fields.add("A", "4");
    std::string all;
    for (const Header& field : fields)
        all.append(field.name).append("=").append(field.value) += ' ';
    EXPECT_EQ(all, "A=1 B= C=3 A=4 ");
    EXPECT_EQ(fields.lines(), "A: 1\r\nB: \r\nC: 3\r\nA: 4\r\n");
    EXPECT_FALSE(fields.empty());
    EXPECT_TRUE(Headers().empty());
    EXPECT_EQ(Headers().begin(), Headers().end());
}

TEST(Headers, AValueMayBeOneOfTheirOwn) {
    Headers fields{{"A", std::string(50, 'a')}};
    // Some of these find no room and move the text that they are a view of.
    for (int i = 0; i < 20; ++i) fields.add("B", fields.find("A"));
    fields.set("A", fields.find("B"));
    EXPECT_EQ(fields.all("B"), (std::vector<std::string_view>(20, std::string(50, 'a'))));
    EXPECT_EQ(fields.find("A"), std::string(50, 'a'));
}

TEST(Headers, OneThatIsSetAgainAndAgainKeepsTheOthers) {
    Headers fields{{"First", "1"}};
    add_lines_of_a_head(fields, "Second:  2 \r\n");
    for (int i = 0; i < 1'000; ++i) fields.set("Third", std::to_string(i));
    EXPECT_EQ(fields.size(), 3U);
    EXPECT_EQ(fields.find("First"), "1");
    EXPECT_EQ(fields.find("Second"), "2");
    EXPECT_EQ(fields.lines(), "First: 1\r\nSecond: 2\r\nThird: 999\r\n");
}

TEST(Headers, AMoveKeepsViewsAndACopyHasItsOwn) {
    Headers fields{{"A", "1"}};
    const std::string_view view = fields.find("A");
    const Headers copy = fields;
    const Headers moved = std::move(fields);
    EXPECT_EQ(moved.find("A").data(), view.data());
    EXPECT_NE(copy.find("A").data(), view.data());
    EXPECT_EQ(copy.find("A"), "1");
}

TEST(Headers, WhatNoMessageMayHoldIsNotValid) {
    EXPECT_TRUE(Headers({{"A", "1"}, {"B", "\xC3\xA9 \t"}}).valid());
    EXPECT_TRUE(Headers().valid());
    EXPECT_FALSE(Headers({{"A b", "1"}}).valid());
    EXPECT_FALSE(Headers({{"", "1"}}).valid());
    EXPECT_FALSE(Headers({{"A", "1\r\nB: 2"}}).valid());
    EXPECT_FALSE(Headers({{"A", std::string("\0", 1)}}).valid());
}

}  // namespace
}  // namespace tiderace::http

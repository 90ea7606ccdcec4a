#include "tiderace/resp/reply.h"

#include <string>

#include <gtest/gtest.h>

#include "tiderace/resp/reply_reader.h"

namespace tiderace::resp {
namespace {

OwnedReply read(std::string text) {
    const Limits limits;
    ReplyReader reader(limits);
    ByteView in = text;
    EXPECT_EQ(reader.read(in), Progress::complete);
    OwnedReply owned = reader.reply().copy();
    text.assign(text.size(), '?');  // what was copied does not need it
    return owned;
}

TEST(Reply, NothingIsNoValue) {
    const Reply none;
    EXPECT_FALSE(none);
    EXPECT_EQ(none.text(), "");
    EXPECT_EQ(none.integer(), std::nullopt);
    EXPECT_EQ(none.size(), 0U);
    EXPECT_TRUE(none.begin() == none.end());
    EXPECT_FALSE(none.copy().view());
    EXPECT_FALSE(none.attributes());
    EXPECT_EQ(none.describe(), "nothing");
}

TEST(Reply, NumbersAreReadFromEveryTypeThatHoldsThem) {
    EXPECT_EQ(read(":5\r\n").view().integer(), 5);
    EXPECT_EQ(read("$1\r\n5\r\n").view().integer(), 5);
    EXPECT_EQ(read(":5\r\n").view().real(), 5.0);
    EXPECT_EQ(read(",2.5\r\n").view().real(), 2.5);
    EXPECT_EQ(read(",2.5\r\n").view().integer(), std::nullopt);
    EXPECT_EQ(read("-5\r\n").view().integer(), std::nullopt) << "an error is no number";
    EXPECT_EQ(read("#t\r\n").view().boolean(), true);
    EXPECT_EQ(read(":0\r\n").view().boolean(), false);
    EXPECT_EQ(read(":2\r\n").view().boolean(), std::nullopt);
}

TEST(Reply, VerbatimStringsHaveAFormat) {
    const OwnedReply owned = read("=7\r\ntxt:abc\r\n");
    EXPECT_EQ(owned.view().text(), "abc");
    EXPECT_EQ(owned.view().format(), "txt");
    EXPECT_EQ(read("+a\r\n").view().format(), "");
}

TEST(Reply, AggregatesAreWalkedAndSearched) {
    const OwnedReply map = read("%2\r\n+a\r\n*2\r\n:1\r\n:2\r\n$1\r\nb\r\n:3\r\n");
    EXPECT_EQ(map.view().size(), 4U);
    EXPECT_EQ(map.view()["a"].describe(), "[1, 2]");
    EXPECT_EQ(map.view()["b"].integer(), 3);
    EXPECT_FALSE(map.view()["c"]);
    const OwnedReply array = read("*4\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n");
    EXPECT_EQ(array.view()["b"][0].integer(), 2);
    EXPECT_EQ(array.view()[1].integer(), 1);
    EXPECT_FALSE(array.view()[4]);
    EXPECT_FALSE(read("*1\r\n+a\r\n").view()["a"]) << "a key without a value";
    EXPECT_FALSE(read("+a\r\n").view()["a"]);
}

TEST(Reply, AttributesStandBesideTheirValue) {
    const OwnedReply owned = read("*2\r\n|1\r\n+ttl\r\n:30\r\n+first\r\n+second\r\n");
    const Reply reply = owned.view();
    ASSERT_EQ(reply.size(), 2U);
    EXPECT_EQ(reply[0].text(), "first");
    EXPECT_EQ(reply[0].attributes()["ttl"].integer(), 30);
    EXPECT_EQ(reply[0].attributes().kind(), Kind::attribute);
    EXPECT_FALSE(reply[1].attributes());
    EXPECT_EQ(reply[0].copy().view().attributes()["ttl"].integer(), 30);
}

TEST(Reply, ErrorsAndNullsAreRecognised) {
    EXPECT_TRUE(read("-ERR\r\n").view().is_error());
    EXPECT_TRUE(read("!3\r\nERR\r\n").view().is_error());
    EXPECT_TRUE(read("$-1\r\n").view().is_null());
    EXPECT_TRUE(read("_\r\n").view()) << "null is a value";
}

}  // namespace
}  // namespace tiderace::resp

#include "tiderace/db/redis/command.h"

#include <gtest/gtest.h>

#include "tiderace/db/error.h"

namespace tiderace::db::redis {
namespace {

TEST(Command, WordsBecomeBulkStringsOfAnyBytes) {
    EXPECT_EQ(make_command("GET", "a").bytes, "*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
    const std::string_view odd("\r\n\0", 3);
    EXPECT_EQ(make_command("ECHO", odd).bytes,
              "*2\r\n$4\r\nECHO\r\n$3\r\n" + std::string(odd) + "\r\n");
    EXPECT_EQ(make_command("SET", "n", -5).bytes, make_command("SET", "n", "-5").bytes);
    EXPECT_THROW(make_command(Arguments()), Error);
}

TEST(Command, TheFirstKeyIsFound) {
    const struct {
        std::vector<std::string_view> words;
        std::string_view key;  // "-": none
    } cases[] = {
        {{"GET", "k"}, "k"},
        {{"get", ""}, ""},
        {{"PING"}, "-"},
        {{"ping", "k"}, "-"},
        {{"EVAL", "return 1", "1", "k", "v"}, "k"},
        {{"EVALSHA", "x", "0", "v"}, "-"},
        {{"OBJECT", "ENCODING", "k"}, "k"},
        {{"XREAD", "COUNT", "2", "STREAMS", "k", "0"}, "k"},
        {{"ZUNION", "2", "k", "l"}, "k"},
        {{"BLMPOP", "0", "2", "k", "l", "LEFT"}, "k"},
        {{"BITOP", "AND", "k", "l"}, "k"},
        {{"PUBLISH", "k", "m"}, "-"},
    };
    for (const auto& each : cases) {
        const Command command = make_command(Arguments(each.words));
        EXPECT_EQ(command.has_key, each.key != "-") << each.words[0];
        if (command.has_key) {
            EXPECT_EQ(command.key(), each.key) << each.words[0];
        }
    }
}

TEST(Command, WhatItDoesIsKnown) {
    EXPECT_TRUE(make_command("HGETALL", "k").reads);
    EXPECT_FALSE(make_command("SET", "k", "v").reads);
    EXPECT_FALSE(make_command("SOMETHING.NEW", "k").reads);
    EXPECT_EQ(make_command("blpop", "k", "0").use, Use::blocking);
    EXPECT_EQ(make_command("XREAD", "BLOCK", "0", "STREAMS", "k", "$").use, Use::blocking);
    EXPECT_EQ(make_command("XREAD", "STREAMS", "k", "$").use, Use::shared);
    for (const char* name : {"MULTI", "exec", "WATCH", "subscribe", "SELECT", "monitor"}) {
        EXPECT_EQ(make_command(name).use, Use::connection) << name;
    }
    for (const char* word :
         {"reply", "TRACKING", "caching", "no-touch", "No-Evict", "capa", "import-source"}) {
        EXPECT_EQ(make_command("CLIENT", word, "off").use, Use::connection) << word;
    }
    EXPECT_EQ(make_command("SCRIPT", "DEBUG", "yes").use, Use::connection);
    EXPECT_EQ(make_command("script", "load", "return 1").use, Use::shared);
    EXPECT_EQ(make_command("CLIENT").use, Use::shared);
    EXPECT_EQ(make_command("CLIENT", "ID").use, Use::shared);
}

// The examples of the specification of clusters.
TEST(Command, SlotsAreThoseOfTheSpecification) {
    EXPECT_EQ(slot_of("123456789"), 0x31C3);
    EXPECT_EQ(slot_of("foo"), 12182);
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
    EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
    EXPECT_NE(slot_of("foo{}{bar}"), slot_of("bar"));
}

}  // namespace
}  // namespace tiderace::db::redis

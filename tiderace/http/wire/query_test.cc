#include "tiderace/http/wire/query.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tiderace/base/random.h"

namespace tiderace::http::wire {
namespace {

// "name=value;" for each pair, "name;" for one without '='.
std::string pairs_of(ByteView query) {
    std::vector<char> storage(query.size());
    QueryPairs pairs(query, storage);
    std::string text;
    while (const auto pair = pairs.next()) {
        text += pair->name;
        if (pair->has_value) (text += '=') += pair->value;
        text += ';';
    }
    EXPECT_FALSE(pairs.overflowed()) << query;
    return text;
}

TEST(Query, GivesThePairsInOrder) {
    EXPECT_EQ(pairs_of(""), "");
    EXPECT_EQ(pairs_of("q=now"), "q=now;");
    EXPECT_EQ(pairs_of("sort=size&order=desc&sort=name"), "sort=size;order=desc;sort=name;");
    EXPECT_EQ(pairs_of("flag"), "flag;");
    EXPECT_EQ(pairs_of("flag="), "flag=;");
    EXPECT_EQ(pairs_of("=value"), "=value;");
    EXPECT_EQ(pairs_of("a=b=c"), "a=b=c;");
    EXPECT_EQ(pairs_of("&&a&&b&"), "a;b;");
}

TEST(Query, DecodesPlusAndEscapes) {
    EXPECT_EQ(pairs_of("q=a+b%20c"), "q=a b c;");
    EXPECT_EQ(pairs_of("%71=caf%c3%A9"), "q=caf\xC3\xA9;");
    EXPECT_EQ(pairs_of("q=%26%3D%2B"), "q=&=+;");
    EXPECT_EQ(pairs_of("q=%22%3E%3Cscript%3E"), "q=\"><script>;");
    EXPECT_EQ(pairs_of("q=%00"), std::string("q=\0;", 4));
}

TEST(Query, LeavesWhatIsNotAnEscapeAsItIs) {
    EXPECT_EQ(pairs_of("q=100%"), "q=100%;");
    EXPECT_EQ(pairs_of("q=%zz%4"), "q=%zz%4;");
    EXPECT_EQ(pairs_of("q=%%41"), "q=%A;");
}

TEST(Query, EarlierPairsStayWhileLaterOnesAreRead) {
    std::array<char, 32> storage;
    QueryPairs pairs("a=%41&b=%42", storage);
    const auto first = pairs.next();
    const auto second = pairs.next();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->value, "A");
    EXPECT_EQ(second->value, "B");
}

TEST(Query, EndsAtAPairThatDoesNotFit) {
    std::array<char, 3> storage;
    QueryPairs pairs("plain=needsnoroom&a=%41%42&b=%43%44&c=d", storage);
    EXPECT_EQ(pairs.next()->value, "needsnoroom");
    EXPECT_EQ(pairs.next()->value, "AB");
    EXPECT_FALSE(pairs.next());
    EXPECT_TRUE(pairs.overflowed());
    EXPECT_FALSE(pairs.next());
}

TEST(Query, StorageOfTheSizeOfTheQueryIsAlwaysEnough) {
    constexpr ByteView alphabet = "a&=+%2";
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        Random random(seed);
        std::string query(random.below(30), '\0');
        for (char& c : query) c = alphabet[random.below(alphabet.size())];
        EXPECT_LE(pairs_of(query).size(), query.size() + 1);
    }
}

TEST(Query, WhatIsWrittenIsReadAgain) {
    std::string every;
    for (int c = 0; c < 256; ++c) every += static_cast<char>(c);
    std::array<char, 2'000> memory;
    BoundedText out(memory);
    ASSERT_TRUE(append_query_pair(out, "a b", "1&2=3+4"));
    ASSERT_TRUE(append_query_pair(out, every, ""));
    EXPECT_TRUE(out.view().starts_with("a+b=1%262%3D3%2B4&%00%01"));
    std::array<char, 2'000> storage;
    QueryPairs pairs(out.view(), storage);
    const auto first = pairs.next();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->name, "a b");
    EXPECT_EQ(first->value, "1&2=3+4");
    const auto second = pairs.next();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->name, every);
    EXPECT_EQ(second->value, "");
    for (std::size_t room = 0; room < 9; ++room) {
        BoundedText small(std::span<char>(memory.data(), room));
        EXPECT_FALSE(append_query_pair(small, "a b", "c d%"));
        EXPECT_EQ(small.size(), 0u);
    }
}

TEST(Query, EveryBeginningOfAFormIsReadWithoutHarm) {
    const ByteView form = "a=1&b=%41%4&&c+d=+%&=x&%00=%zz&e";
    for (std::size_t bytes = 0; bytes <= form.size(); ++bytes) {
        std::array<char, 64> storage;
        QueryPairs pairs(form.substr(0, bytes), std::span<char>(storage.data(), bytes));
        while (pairs.next()) {
        }
        EXPECT_FALSE(pairs.overflowed()) << bytes;
    }
}

}  // namespace
}  // namespace tiderace::http::wire

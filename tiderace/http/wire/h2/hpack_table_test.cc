#include "tiderace/http/wire/h2/hpack_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "tiderace/base/random.h"

namespace tiderace::http::wire {
namespace {

bool insert(HpackTable& table, ByteView name, ByteView value) {
    return table.insert(judge_hpack_field(name, value));
}

TEST(HpackTable, TheNewestComesFirst) {
    HpackTable table(4096);
    EXPECT_EQ(table.memory_bytes(), 0U);
    EXPECT_TRUE(insert(table, "x-one", "1"));
    EXPECT_TRUE(insert(table, "host", "a"));
    EXPECT_TRUE(insert(table, ":path", "/p"));
    ASSERT_EQ(table.size(), 3U);
    EXPECT_EQ(table.bytes(), 3U * 32 + 6 + 5 + 7);
    EXPECT_EQ(table.at(0).name, ":path");
    EXPECT_EQ(table.at(0).pseudo, PseudoField::path);
    EXPECT_EQ(table.at(1).name, "host");
    EXPECT_EQ(table.at(1).id, FieldName::host);
    EXPECT_EQ(table.at(2).name, "x-one");
    EXPECT_EQ(table.at(2).value, "1");
}

TEST(HpackTable, EvictsTheOldestForRoomAndWhenItShrinks) {
    HpackTable table(100);  // two entries of 34 and one of 32
    insert(table, "a", "1");
    insert(table, "b", "2");
    insert(table, "c", "3");
    ASSERT_EQ(table.size(), 2U);
    EXPECT_EQ(table.at(1).name, "b");
    table.set_bytes_max(67);
    ASSERT_EQ(table.size(), 1U);
    EXPECT_EQ(table.at(0).name, "c");
    table.set_bytes_max(0);
    EXPECT_EQ(table.size(), 0U);
    EXPECT_FALSE(insert(table, "", ""));
    table.set_bytes_max(32);
    EXPECT_TRUE(insert(table, "", ""));
    EXPECT_EQ(table.at(0).name, "");
}

TEST(HpackTable, WhatIsLargerThanItEmptiesIt) {
    HpackTable table(100);
    insert(table, "a", "1");
    EXPECT_TRUE(insert(table, "a", std::string(67, 'x')));
    EXPECT_FALSE(insert(table, "a", std::string(68, 'x')));
    EXPECT_EQ(table.size(), 0U);
    EXPECT_EQ(table.bytes(), 0U);
    EXPECT_FALSE(insert(table, std::string(1'000'000, 'x'), ""));
    EXPECT_EQ(table.insertions(), 2U);
}

TEST(HpackTable, KeepsTheVerdictOfItsTexts) {
    HpackTable table(4096);
    insert(table, "Host", "a");
    insert(table, "host", "a ");
    EXPECT_EQ(table.at(1).refusal, Refusal::bad_field_name);
    EXPECT_EQ(table.at(1).name, "Host");
    EXPECT_EQ(table.at(0).refusal, Refusal::bad_field_value);
}

TEST(HpackTable, FindsByNameAndValue) {
    HpackTable table(4096);
    insert(table, "server", "tiderace");
    insert(table, "x-a", "tiderace");
    insert(table, "vary", "accept-encoding");
    insert(table, "vary", "accept-encodinG");
    insert(table, "server", "tiderace");
    EXPECT_EQ(table.find(FieldName::server, {}, "tiderace"), 0U);
    EXPECT_EQ(table.find(FieldName::vary, {}, "accept-encoding"), 2U);
    EXPECT_EQ(table.find(FieldName::other, "x-a", "tiderace"), 3U);
    EXPECT_EQ(table.find(FieldName::other, "x-b", "tiderace"), HpackTable::none);
    EXPECT_EQ(table.find(FieldName::other, "server", "tiderace"), HpackTable::none);
    EXPECT_EQ(table.find(FieldName::server, {}, "tidErace"), HpackTable::none);
    EXPECT_EQ(table.find(FieldName::date, {}, "tiderace"), HpackTable::none);
}

// The same table, in the most simple way.
struct Model {
    std::deque<std::pair<std::string, std::string>> entries;
    std::size_t bytes_max;

    std::size_t bytes() const {
        std::size_t sum = 0;
        for (const auto& [name, value] : entries) sum += name.size() + value.size() + 32;
        return sum;
    }
    void shrink_to(std::size_t limit) {
        while (bytes() > limit) entries.pop_back();
    }
    void insert(const std::string& name, const std::string& value) {
        const std::size_t size = name.size() + value.size() + 32;
        shrink_to(size > bytes_max ? 0 : bytes_max - size);
        if (size <= bytes_max) entries.emplace_front(name, value);
    }
};

void expect_same(const HpackTable& table, const Model& model) {
    ASSERT_EQ(table.size(), model.entries.size());
    ASSERT_EQ(table.bytes(), model.bytes());
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        ASSERT_EQ(table.at(i).name, model.entries[i].first);
        ASSERT_EQ(table.at(i).value, model.entries[i].second);
    }
}

TEST(HpackTable, DoesAsASimpleTableDoesThroughAnyThrashing) {
    const char* names[] = {"server", "x-other", ":path", "cookie", ":strange", "", "Upper"};
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Random random(seed);
        const auto start = static_cast<std::uint32_t>(random.below(2000));
        HpackTable table(start);
        Model model{.entries = {}, .bytes_max = start};
        for (int step = 0; step < 500; ++step) {
            if (random.below(40) == 0) {
                const auto size = static_cast<std::uint32_t>(random.below(2000));
                table.set_bytes_max(size);
                model.bytes_max = size;
                model.shrink_to(size);
            } else {
                const std::string name = names[random.below(std::size(names))];
                const std::uint64_t longest = random.below(10) == 0 ? 3000 : 60;
                const std::string value(random.below(longest), static_cast<char>('a' + step % 26));
                insert(table, name, value);
                model.insert(name, value);
            }
            expect_same(table, model);
            ASSERT_LE(table.memory_bytes(), std::size_t{2 * 2000 + 256 + 16 * 128});
        }
    }
}

TEST(HpackTable, TakesNoMoreMemoryThanItSays) {
    HpackTable table(4096);
    insert(table, "server", "tiderace");
    EXPECT_LE(table.memory_bytes(), 512U);
    for (int i = 0; i < 10'000; ++i) insert(table, "x", std::string(i % 50, 'v'));
    for (int i = 0; i < 10'000; ++i) insert(table, "", "");
    EXPECT_LE(table.memory_bytes(), std::size_t{2 * 4096 + 16 * 128});
}

}  // namespace
}  // namespace tiderace::http::wire

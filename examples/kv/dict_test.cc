#include "examples/kv/dict.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "examples/kv/commands/random_nodes.h"

namespace kv {
namespace {

TEST(Dict, ActsAsAModelDoes) {
    Dict<int> dict;
    std::map<std::string, int> model;
    tiderace::Random random(3);
    for (int step = 0; step < 50'000; ++step) {
        // It grows for a while, then shrinks.
        const bool adds = random.chance(step < 25'000 ? 3 : 1, 4);
        const std::string key = "key:" + std::to_string(random.below(2'000));
        if (adds) {
            EXPECT_EQ(dict.insert(key).second, !model.contains(key));
            dict.insert(key).first->mapped = model[key] = step;
        } else {
            EXPECT_EQ(dict.erase(key), model.erase(key) > 0);
        }
        ASSERT_EQ(dict.size(), model.size());
        const auto* found = dict.find(key);
        ASSERT_EQ(found != nullptr, model.contains(key));
    }
    std::map<std::string, int> all;
    dict.for_each([&all](auto& node) { all[node.key] = node.mapped; });
    EXPECT_EQ(all, model);
}

TEST(Dict, AScanSeesAllThatStaysWhateverComesAndGoes) {
    for (const int seed : {1, 2, 3, 4, 5, 6}) {
        Dict<int> dict;
        tiderace::Random random(static_cast<std::uint64_t>(seed));
        std::set<std::string> stays;
        for (int i = 0; i < 200; ++i) dict.insert(*stays.insert("s" + std::to_string(i)).first);
        std::set<std::string> seen;
        std::uint64_t cursor = 0;
        int others = 0;
        int steps = 0;
        do {
            cursor = dict.scan(cursor, [&seen](auto& node) { seen.insert(node.key); });
            // Waves that make it grow and shrink under the cursor.
            const bool grows = random.chance(1, 2);
            for (int i = 0; i < 100; ++i) {
                if (grows) dict.insert("o" + std::to_string(others++));
                if (!grows && others > 0) dict.erase("o" + std::to_string(--others));
            }
            ASSERT_LT(++steps, 100'000);
        } while (cursor != 0);
        for (const std::string& each : stays) EXPECT_TRUE(seen.contains(each)) << each;
    }
}

TEST(Dict, RandomElementsAreAllReached) {
    Dict<int> dict;
    for (int i = 0; i < 10; ++i) dict.insert(std::to_string(i));
    tiderace::Random random(5);
    std::set<std::string> seen;
    for (int i = 0; i < 1'000; ++i) seen.insert(dict.random(random).key);
    EXPECT_EQ(seen.size(), 10U);
}

// How far the counts of equally likely elements are from each other; about as many as elements.
double chi_squared(const std::map<std::string, int>& counts, std::size_t elements) {
    double total = 0;
    for (const auto& [key, count] : counts) total += count;
    const double expected = total / static_cast<double>(elements);
    double sum = expected * static_cast<double>(elements - counts.size());
    for (const auto& [key, count] : counts)
        sum += (count - expected) * (count - expected) / expected;
    return sum;
}

// Fewer than one run in a million comes so far.
double chi_squared_max(std::size_t elements) {
    return 2 * static_cast<double>(elements) + 40;
}

void fill(Dict<int>& dict, int elements) {
    for (int i = 0; i < elements; ++i) dict.insert(std::to_string(i));
}

TEST(Dict, ARandomElementIsAnyWithTheSameChance) {
    tiderace::Random random(5);
    // Sizes at which the table has just grown, grows, and is about to grow.
    for (const int elements : {1, 2, 10, 16, 100, 129, 1'000}) {
        for (const int erased : {0, 4 * elements}) {
            Dict<int> dict;
            fill(dict, elements + erased);
            for (int i = elements; i < elements + erased; ++i) dict.erase(std::to_string(i));
            std::map<std::string, int> counts;
            for (int i = 0; i < 100 * elements; ++i) ++counts[dict.random(random).key];
            const auto size = static_cast<std::size_t>(elements);
            EXPECT_LT(chi_squared(counts, size), chi_squared_max(size)) << elements << erased;
        }
    }
}

TEST(Dict, TheFirstRandomElementOfATableIsAnyToo) {
    tiderace::Random random(6);
    std::map<std::string, int> counts;
    for (int i = 0; i < 20'000; ++i) {
        Dict<int> dict;
        fill(dict, 10);
        ++counts[dict.random(random).key];
    }
    EXPECT_LT(chi_squared(counts, 10), chi_squared_max(10));
}

TEST(Dict, SeveralRandomElementsAreAnyWithTheSameChance) {
    tiderace::Random random(7);
    Dict<int> dict;
    fill(dict, 100);
    for (const std::int64_t count : {-10, 3, 30, 60}) {
        std::map<std::string, int> counts;
        std::map<std::string, int> firsts;
        for (int i = 0; i < 5'000; ++i) {
            const auto nodes = random_nodes(&dict, count, random);
            ++firsts[nodes->front()->key];
            for (const auto* node : *nodes) ++counts[node->key];
        }
        EXPECT_LT(chi_squared(counts, 100), chi_squared_max(100)) << count;
        EXPECT_LT(chi_squared(firsts, 100), chi_squared_max(100)) << count;
    }
}

TEST(Dict, ClearedItIsEmptyAndCanBeUsed) {
    Dict<int> dict;
    EXPECT_EQ(dict.find("a"), nullptr);
    EXPECT_EQ(dict.scan(0, [](auto&) { FAIL(); }), 0U);
    for (int i = 0; i < 100; ++i) dict.insert(std::to_string(i));
    dict.clear();
    EXPECT_TRUE(dict.empty());
    EXPECT_TRUE(dict.insert("a").second);
}

}  // namespace
}  // namespace kv

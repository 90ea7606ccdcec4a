#include "examples/kv/dict.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

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

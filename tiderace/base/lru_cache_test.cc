#include "tiderace/base/lru_cache.h"

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/base/keyed_hash.h"
#include "tiderace/base/random.h"

namespace tiderace {
namespace {

using ::testing::ElementsAre;

class Cache : public ::testing::Test {
  protected:
    Cache() {
        cache.on_evict([this](const std::string& key, int&) { evicted.push_back(key); });
    }

    LruCache<std::string, int, KeyedHash> cache{10};
    std::vector<std::string> evicted;
};

TEST_F(Cache, DropsWhatWasUsedLongestAgo) {
    cache.put("a", 1, 4);
    cache.put("b", 2, 4);
    ASSERT_NE(cache.find("a"), nullptr);
    cache.put("c", 3, 4);
    EXPECT_THAT(evicted, ElementsAre("b"));
    EXPECT_EQ(*cache.find("a"), 1);
    EXPECT_EQ(cache.find("b"), nullptr);
    EXPECT_EQ(*cache.find("c"), 3);
    EXPECT_EQ(cache.cost(), 8U);
    EXPECT_EQ(cache.size(), 2U);
}

TEST_F(Cache, ALookThatIsNoUseLeavesTheOrder) {
    cache.put("a", 1, 5);
    cache.put("b", 2, 5);
    EXPECT_TRUE(cache.contains(std::string_view("a")));
    cache.put("c", 3, 1);
    EXPECT_THAT(evicted, ElementsAre("a"));
}

TEST_F(Cache, IsFullExactlyAtItsBound) {
    cache.put("a", 1, 5);
    cache.put("b", 2, 5);
    EXPECT_THAT(evicted, ElementsAre());
    cache.put("c", 3, 10);
    EXPECT_THAT(evicted, ElementsAre("a", "b"));
    EXPECT_EQ(cache.put("d", 4, 11), nullptr);
    EXPECT_EQ(cache.size(), 1U);
    EXPECT_TRUE(cache.contains("c")) << "an entry that cannot be kept evicts nothing";
}

TEST_F(Cache, AnEntryThatIsTooLargeStillReplacesTheOlderValue) {
    cache.put("a", 1, 1);
    EXPECT_EQ(cache.put("a", 2, 11), nullptr);
    EXPECT_FALSE(cache.contains("a"));
    EXPECT_EQ(cache.cost(), 0U);
}

TEST_F(Cache, APutInPlaceOfAnotherIsChargedOnce) {
    cache.put("a", 1, 4);
    EXPECT_EQ(*cache.put("a", 2, 6), 2);
    EXPECT_EQ(cache.cost(), 6U);
    EXPECT_THAT(evicted, ElementsAre());
    EXPECT_TRUE(cache.erase("a"));
    EXPECT_FALSE(cache.erase("a"));
    EXPECT_EQ(cache.cost(), 0U);
}

TEST_F(Cache, ASmallerBoundEvictsAtOnce) {
    for (const char* key : {"a", "b", "c"}) cache.put(key, 1, 3);
    cache.set_cost_max(3);
    EXPECT_THAT(evicted, ElementsAre("a", "b"));
    cache.clear();
    EXPECT_EQ(cache.size() + cache.cost(), 0U);
    EXPECT_THAT(evicted, ElementsAre("a", "b"));
}

TEST_F(Cache, ActsAsAModelDoes) {
    std::list<std::pair<std::string, std::size_t>> model;  // the oldest comes first
    const auto sum = [&model] {
        std::size_t cost = 0;
        for (const auto& each : model) cost += each.second;
        return cost;
    };
    Random random(7);
    for (int step = 0; step < 20'000; ++step) {
        const std::string key(1, static_cast<char>('a' + random.below(12)));
        const auto at = std::find_if(model.begin(), model.end(),
                                     [&key](const auto& each) { return each.first == key; });
        if (random.chance(1, 2)) {
            EXPECT_EQ(cache.find(key) != nullptr, at != model.end());
            if (at != model.end()) model.splice(model.end(), model, at);
            continue;
        }
        if (at != model.end()) model.erase(at);
        if (random.chance(1, 5)) {
            cache.erase(key);
            continue;
        }
        const std::size_t cost = random.below(12);
        cache.put(key, step, cost);
        if (cost > 10) continue;
        while (sum() + cost > 10) model.pop_front();
        model.emplace_back(key, cost);
        ASSERT_EQ(cache.size(), model.size());
        ASSERT_EQ(cache.cost(), sum());
    }
}

TEST(LruOrder, CostsFollowTheirObjects) {
    struct Object : LruHook {};
    LruOrder<Object> order;
    Object first;
    Object second;
    EXPECT_EQ(order.oldest(), nullptr);
    order.add(first, 5);
    order.add(second, 7);
    order.charge(first, 1);
    EXPECT_EQ(order.cost(), 8U);
    EXPECT_EQ(order.oldest(), &first);
    order.touch(first);
    EXPECT_EQ(order.oldest(), &second);
    order.remove(second);
    EXPECT_EQ(order.cost(), 1U);
    order.remove(first);
    EXPECT_TRUE(order.empty());
    EXPECT_EQ(order.cost(), 0U);
}

}  // namespace
}  // namespace tiderace

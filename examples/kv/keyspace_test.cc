#include "examples/kv/keyspace.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kv {
namespace {

using ::testing::ElementsAre;

class Keys : public ::testing::Test {
  protected:
    Keys() {
        keys.set_now(1'000);
        keys.on_loss([this](ByteView key, Keyspace::Loss) { lost.emplace_back(key); });
    }
    Keyspace keys;
    std::vector<std::string> lost;
};

TEST_F(Keys, AKeyIsGoneWhenItsTimeHasCome) {
    keys.set_expiry(keys.set("a", Text("1")), 2'000);
    keys.set_now(1'999);
    EXPECT_NE(keys.find("a"), nullptr);
    keys.set_now(2'000);
    EXPECT_EQ(keys.find("a"), nullptr);
    EXPECT_THAT(lost, ElementsAre("a"));
    EXPECT_EQ(keys.size(), 0U);
}

TEST_F(Keys, TimeStandsStillWhileALogIsReplayed) {
    keys.set_expiry(keys.set("a", Text("1")), 1);
    keys.set_now(0);
    EXPECT_NE(keys.find("a"), nullptr);
    EXPECT_EQ(keys.expire_some(10), 0U);
}

TEST_F(Keys, ExpireSomeTakesThoseThatAreDueAndNoMoreThanAsked) {
    for (int i = 0; i < 10; ++i) keys.set_expiry(keys.set(std::to_string(i), Text("")), 1'500 + i);
    keys.set("stays", Text(""));
    keys.set_now(1'504);
    EXPECT_EQ(keys.expire_some(2), 2U);
    EXPECT_EQ(keys.expire_some(100), 3U);
    EXPECT_EQ(keys.size(), 6U);
    EXPECT_EQ(keys.with_expiry(), 5U);
}

TEST_F(Keys, ANewValueHasNoExpiry) {
    keys.set_expiry(keys.set("a", Text("1")), 2'000);
    EXPECT_EQ(keys.set("a", Text("2")).expires, 0);
    EXPECT_EQ(keys.with_expiry(), 0U);
}

TEST_F(Keys, ARenamedKeyKeepsItsExpiry) {
    keys.set_expiry(keys.set("a", Text("1")), 2'000);
    keys.set("b", Text("2"));
    keys.rename("a", "b");
    EXPECT_EQ(keys.find("a"), nullptr);
    EXPECT_EQ(keys.find("b")->expires, 2'000);
    EXPECT_EQ(std::get<Text>(keys.find("b")->value).view(), "1");
}

TEST_F(Keys, TheKeyUsedLongestAgoIsEvictedFirst) {
    keys.set_eviction(Eviction::allkeys_lru);
    for (const char* key : {"a", "b", "c"}) keys.set(key, Text(""));
    keys.find("a");
    keys.peek("b");  // no use
    EXPECT_TRUE(keys.evict_one());
    EXPECT_TRUE(keys.evict_one());
    EXPECT_THAT(lost, ElementsAre("b", "c"));
    EXPECT_TRUE(keys.evict_one());
    EXPECT_FALSE(keys.evict_one());
}

TEST_F(Keys, WithoutAPolicyNoKeyIsEvicted) {
    keys.set_expiry(keys.set("a", Text("")), 2'000);
    EXPECT_FALSE(keys.evict_one());
    EXPECT_TRUE(lost.empty());
}

TEST_F(Keys, OfKeysThatExpireTheOneUsedLongestAgoIsEvicted) {
    keys.set_expiry(keys.set("early", Text("")), 2'000);  // before the policy
    keys.set_eviction(Eviction::volatile_lru);
    keys.set("stays", Text(""));
    for (const char* key : {"a", "b", "c"}) keys.set_expiry(keys.set(key, Text("")), 2'000);
    keys.find("a");
    keys.set_expiry(*keys.peek("b"), 0);  // it no longer expires
    keys.set_expiry(*keys.peek("c"), 9'000);
    while (keys.evict_one()) continue;
    EXPECT_THAT(lost, ElementsAre("early", "c", "a"));
    EXPECT_EQ(keys.size(), 2U);
    // A policy for all keys finds the keys that were apart and the others.
    keys.set_expiry(*keys.peek("b"), 2'000);
    keys.set_eviction(Eviction::allkeys_lru);
    keys.find("b");
    EXPECT_TRUE(keys.evict_one());
    EXPECT_TRUE(keys.evict_one());
    EXPECT_FALSE(keys.evict_one());
    EXPECT_EQ(keys.size(), 0U);
    EXPECT_EQ(keys.with_expiry(), 0U);
}

TEST_F(Keys, APlainSetTakesTheExpiryAndTheRisk) {
    keys.set_eviction(Eviction::volatile_lru);
    keys.set_expiry(keys.set("a", Text("")), 2'000);
    keys.set("a", Text("new"));
    EXPECT_FALSE(keys.evict_one());
    keys.clear();
    EXPECT_FALSE(keys.evict_one());
}

TEST_F(Keys, TheKeyThatExpiresFirstIsEvicted) {
    keys.set_eviction(Eviction::volatile_ttl);
    keys.set("stays", Text(""));
    keys.set_expiry(keys.set("late", Text("")), 9'000);
    keys.set_expiry(keys.set("soon", Text("")), 2'000);
    while (keys.evict_one()) continue;
    EXPECT_THAT(lost, ElementsAre("soon", "late"));
}

TEST_F(Keys, RandomPoliciesTakeAllThatTheyMay) {
    for (int i = 0; i < 200; ++i) keys.set("stays" + std::to_string(i), Text(""));
    for (int i = 0; i < 3; ++i)
        keys.set_expiry(keys.set("goes" + std::to_string(i), Text("")), 2'000);
    keys.set_eviction(Eviction::volatile_random);
    while (keys.evict_one()) continue;
    EXPECT_EQ(lost.size(), 3U);
    EXPECT_EQ(keys.size(), 200U);
    keys.set_eviction(Eviction::allkeys_random);
    while (keys.evict_one()) continue;
    EXPECT_EQ(keys.size(), 0U);
}

TEST_F(Keys, ARandomKeyIsOneThatIsThere) {
    EXPECT_EQ(keys.random(), nullptr);
    keys.set_expiry(keys.set("old", Text("")), 500);
    EXPECT_EQ(keys.random(), nullptr);
    keys.set("new", Text(""));
    EXPECT_EQ(*keys.random()->key, "new");
}

}  // namespace
}  // namespace kv

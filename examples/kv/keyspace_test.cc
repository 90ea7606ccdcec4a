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
    keys.set_expiry(keys.set("a", "1"), 2'000);
    keys.set_now(1'999);
    EXPECT_NE(keys.find("a"), nullptr);
    keys.set_now(2'000);
    EXPECT_EQ(keys.find("a"), nullptr);
    EXPECT_THAT(lost, ElementsAre("a"));
    EXPECT_EQ(keys.size(), 0U);
}

TEST_F(Keys, TimeStandsStillWhileALogIsReplayed) {
    keys.set_expiry(keys.set("a", "1"), 1);
    keys.set_now(0);
    EXPECT_NE(keys.find("a"), nullptr);
    EXPECT_EQ(keys.expire_some(10), 0U);
}

TEST_F(Keys, ExpireSomeTakesThoseThatAreDueAndNoMoreThanAsked) {
    for (int i = 0; i < 10; ++i) keys.set_expiry(keys.set(std::to_string(i), ""), 1'500 + i);
    keys.set("stays", "");
    keys.set_now(1'504);
    EXPECT_EQ(keys.expire_some(2), 2U);
    EXPECT_EQ(keys.expire_some(100), 3U);
    EXPECT_EQ(keys.size(), 6U);
    EXPECT_EQ(keys.with_expiry(), 5U);
}

TEST_F(Keys, ANewValueHasNoExpiry) {
    keys.set_expiry(keys.set("a", "1"), 2'000);
    EXPECT_EQ(keys.set("a", "2").expires, 0);
    EXPECT_EQ(keys.with_expiry(), 0U);
}

TEST_F(Keys, ARenamedKeyKeepsItsExpiry) {
    keys.set_expiry(keys.set("a", "1"), 2'000);
    keys.set("b", "2");
    keys.rename("a", "b");
    EXPECT_EQ(keys.find("a"), nullptr);
    EXPECT_EQ(keys.find("b")->expires, 2'000);
    EXPECT_EQ(std::get<std::string>(keys.find("b")->value), "1");
}

TEST_F(Keys, TheKeyUsedLongestAgoIsEvictedFirst) {
    keys.set_ordered(true);
    for (const char* key : {"a", "b", "c"}) keys.set(key, "");
    keys.find("a");
    keys.peek("b");  // no use
    EXPECT_TRUE(keys.evict_one());
    EXPECT_TRUE(keys.evict_one());
    EXPECT_THAT(lost, ElementsAre("b", "c"));
    EXPECT_TRUE(keys.evict_one());
    EXPECT_FALSE(keys.evict_one());
}

TEST_F(Keys, ARandomKeyIsOneThatIsThere) {
    EXPECT_EQ(keys.random(), nullptr);
    keys.set_expiry(keys.set("old", ""), 500);
    EXPECT_EQ(keys.random(), nullptr);
    keys.set("new", "");
    EXPECT_EQ(*keys.random()->key, "new");
}

}  // namespace
}  // namespace kv

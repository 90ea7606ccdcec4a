#include "examples/kv/sorted_set.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace kv {
namespace {

TEST(SortedSet, ActsAsAModelDoes) {
    SortedSet set;
    std::set<std::pair<double, std::string>> order;
    std::map<std::string, double> scores;
    tiderace::Random random(9);
    for (int step = 0; step < 20'000; ++step) {
        const std::string member = std::to_string(random.below(300));
        const auto old = scores.find(member);
        if (random.chance(2, 3)) {
            const auto score = static_cast<double>(random.below(50));
            EXPECT_EQ(set.set(member, score), old == scores.end());
            if (old != scores.end()) order.erase({old->second, member});
            order.emplace(score, member);
            scores[member] = score;
        } else {
            EXPECT_EQ(set.erase(member), old != scores.end());
            if (old != scores.end()) {
                order.erase({old->second, member});
                scores.erase(old);
            }
        }
        ASSERT_EQ(set.size(), scores.size());
        if (step % 500 != 0) continue;
        std::size_t rank = 0;
        const SortedSet::Node* previous = nullptr;
        for (const auto& [score, name] : order) {
            const auto* node = set.at(rank);
            ASSERT_NE(node, nullptr);
            EXPECT_EQ(node->member(), name);
            EXPECT_EQ(node->score(), score);
            EXPECT_EQ(node->previous(), previous);
            EXPECT_EQ(set.rank(name), rank);
            EXPECT_EQ(set.score(name), score);
            previous = node;
            ++rank;
        }
        EXPECT_EQ(set.at(rank), nullptr);
        const std::size_t below =
            set.rank_of_first_not([](const SortedSet::Node& node) { return node.score() < 25; });
        EXPECT_EQ(below, static_cast<std::size_t>(
                             std::distance(order.begin(), order.lower_bound({25, ""}))));
    }
}

TEST(SortedSet, WhatIsNotThereHasNoRank) {
    SortedSet set;
    EXPECT_EQ(set.rank("a"), std::nullopt);
    EXPECT_EQ(set.score("a"), std::nullopt);
    EXPECT_FALSE(set.erase("a"));
    EXPECT_EQ(set.at(0), nullptr);
}

TEST(SortedSet, AnUpdateThatChoosesNoScoreChangesNothing) {
    SortedSet set;
    set.set("a", 1);
    const auto keep = [](std::optional<double>) -> std::optional<double> { return std::nullopt; };
    set.update("a", keep);
    set.update("b", keep);
    EXPECT_EQ(set.size(), 1U);
    EXPECT_EQ(set.members().size(), 1U);
    EXPECT_EQ(set.score("a"), 1);
    set.update("a", [](std::optional<double> former) { return std::optional(*former + 1); });
    set.update("b", [](std::optional<double> former) { return std::optional(former ? 0.0 : 5.0); });
    EXPECT_EQ(set.score("a"), 2);
    EXPECT_EQ(set.rank("b"), 1U);
}

}  // namespace
}  // namespace kv

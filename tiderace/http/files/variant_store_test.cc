#include "tiderace/http/files/variant_store.h"

#include <gtest/gtest.h>

namespace tiderace::http::files {
namespace {

using Claim = VariantStore::Claim;

VariantKey key_of(std::uint64_t inode) {
    VariantKey key;
    key.file.inode = inode;
    return key;
}

VariantStore::Bytes bytes_of(std::size_t count) {
    return std::make_shared<const std::string>(count, 'x');
}

TEST(VariantStore, OneMakesItAndTheOthersAreToldToComeAgain) {
    VariantStore store(1_MiB);
    EXPECT_EQ(store.claim(key_of(1)).claim, Claim::yours);
    EXPECT_EQ(store.claim(key_of(1)).claim, Claim::busy);
    EXPECT_EQ(store.claim(key_of(2)).claim, Claim::yours);
    const auto bytes = bytes_of(10);
    store.put(key_of(1), bytes, false);
    const auto claimed = store.claim(key_of(1));
    EXPECT_EQ(claimed.claim, Claim::made);
    EXPECT_EQ(claimed.bytes, bytes);
    EXPECT_EQ(store.counters().made, 1u);
    EXPECT_EQ(store.counters().shared, 1u);
}

TEST(VariantStore, WhatWasGivenUpIsAnotherOnesToMake) {
    VariantStore store(1_MiB);
    EXPECT_EQ(store.claim(key_of(1)).claim, Claim::yours);
    store.give_up(key_of(1));
    EXPECT_EQ(store.claim(key_of(1)).claim, Claim::yours);
}

TEST(VariantStore, RemembersWhatIsNotWorthIt) {
    VariantStore store(1_MiB);
    EXPECT_EQ(store.claim(key_of(1)).claim, Claim::yours);
    store.put(key_of(1), nullptr, false);
    EXPECT_EQ(store.claim(key_of(1)).claim, Claim::made);
    EXPECT_EQ(store.claim(key_of(1)).bytes, nullptr);
    EXPECT_EQ(store.counters().declined, 1u);
    EXPECT_EQ(store.counters().made + store.counters().read + store.counters().shared, 0u);
    EXPECT_GT(store.bytes(), 0u) << "remembering it takes memory, too";
}

TEST(VariantStore, CountsWhatCameFromTheDiskApart) {
    VariantStore store(1_MiB);
    store.claim(key_of(1));
    store.put(key_of(1), bytes_of(10), true);
    EXPECT_EQ(store.counters().read, 1u);
    EXPECT_EQ(store.counters().made, 0u);
}

TEST(VariantStore, HoldsWhatFitsToTheByte) {
    const auto fill = [](VariantStore& store) {
        for (std::uint64_t i = 1; i <= 2; ++i) {
            store.claim(key_of(i));
            store.put(key_of(i), bytes_of(1'000 * i), false);
        }
    };
    VariantStore large(1_MiB);
    fill(large);
    const std::size_t both = large.bytes();
    EXPECT_GE(both, 3'000U);
    for (const std::size_t less : {0U, 1U}) {
        VariantStore store(both - less);
        fill(store);
        EXPECT_EQ(store.counters().evicted, less);
        EXPECT_EQ(store.claim(key_of(1)).claim, less == 0 ? Claim::made : Claim::yours);
        EXPECT_EQ(store.claim(key_of(2)).claim, Claim::made);
        EXPECT_EQ(store.bytes() == both, less == 0);
    }
    large.claim(key_of(3));
    large.put(key_of(3), nullptr, false);
    const std::size_t overhead = large.bytes() - both;
    EXPECT_EQ(both, 2 * overhead + 3'000);
}

TEST(VariantStore, AnotherStateOrCodingIsAnotherThing) {
    VariantStore store(1_MiB);
    VariantKey key = key_of(1);
    EXPECT_EQ(store.claim(key).claim, Claim::yours);
    key.coding = wire::ContentCoding::br;
    EXPECT_EQ(store.claim(key).claim, Claim::yours);
    key.file.changed_ns = 1;
    EXPECT_EQ(store.claim(key).claim, Claim::yours);
}

TEST(VariantStore, DropsAllWhenMemoryIsWanted) {
    VariantStore store(1_MiB);
    for (std::uint64_t i = 1; i <= 3; ++i) store.claim(key_of(i));
    for (std::uint64_t i = 1; i <= 2; ++i) store.put(key_of(i), bytes_of(10'000), false);
    store.drop_all();
    EXPECT_EQ(store.bytes(), 0u);
    EXPECT_EQ(store.counters().evicted, 2u);
    EXPECT_EQ(store.claim(key_of(1)).claim, Claim::yours);
    EXPECT_EQ(store.claim(key_of(3)).claim, Claim::busy) << "which is being made";
}

TEST(VariantStore, DropsTheLeastRecentlyClaimedAboveItsBound) {
    VariantStore store(30'000);
    for (std::uint64_t i = 1; i <= 2; ++i) {
        store.claim(key_of(i));
        store.put(key_of(i), bytes_of(10'000), false);
    }
    EXPECT_EQ(store.claim(key_of(1)).claim, Claim::made);
    const auto held = store.claim(key_of(2)).bytes;
    EXPECT_EQ(store.claim(key_of(1)).claim, Claim::made);
    store.claim(key_of(3));
    store.put(key_of(3), bytes_of(10'000), false);
    EXPECT_LE(store.bytes(), 30'000u);
    EXPECT_EQ(store.claim(key_of(1)).claim, Claim::made);
    EXPECT_EQ(store.claim(key_of(2)).claim, Claim::yours);
    EXPECT_EQ(held->size(), 10'000u);
    EXPECT_EQ(store.counters().evicted, 1u);
}

}  // namespace
}  // namespace tiderace::http::files

#include "tiderace/core/backend/readiness.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace tiderace::core {
namespace {

// What every engine does is in core/backend_test.cc; here is which calls of the poller that takes.
struct Calls final : Poller {
    int set(int, std::uint32_t, Interest interest, bool known) override {
        sets.emplace_back(interest, known);
        return 0;
    }
    void remove(int, Afterwards) override { ++removals; }
    int wait(std::span<Ready>, Duration) override { return 0; }
    void wake() override {}

    std::vector<std::pair<Interest, bool>> sets;
    int removals = 0;
};

TEST(ReadinessBackend, CallsThePollerOnlyWhereTheInterestChanges) {
    auto owned = std::make_unique<Calls>();
    Calls& calls = *owned;
    ReadinessBackend backend("test", std::move(owned), {});
    struct : IoObserver {
    } observer;
    IoHandle handle = *backend.attach(7, observer);
    backend.set_receiving(handle, false);
    EXPECT_TRUE(calls.sets.empty()) << "nothing was wanted before either";
    for (int i = 0; i < 3; ++i) backend.set_receiving(handle, true);
    ASSERT_EQ(calls.sets.size(), 1U);
    EXPECT_EQ(calls.sets[0].first, Interest{.readable = true});
    EXPECT_FALSE(calls.sets[0].second);
    for (int i = 0; i < 3; ++i) backend.set_receiving(handle, false);
    ASSERT_EQ(calls.sets.size(), 2U);
    EXPECT_EQ(calls.sets[1].first, Interest{});
    EXPECT_TRUE(calls.sets[1].second);
    backend.detach(handle);
    EXPECT_EQ(calls.removals, 1);
}

}  // namespace
}  // namespace tiderace::core

#include "lab/engine/threading_model.h"

#include <gtest/gtest.h>

#include "tiderace/core/backend/poll.h"
#include "tiderace/core/backend/readiness.h"

namespace tiderace::lab::engine {
namespace {

TEST(ThreadingModel, MakesALoopForEachRequestedThreadOrEachCpu) {
    const ThreadingModel plain;
    EXPECT_EQ(plain.count_loops(3, 8), 3u);
    EXPECT_EQ(plain.count_loops(0, 8), 8u);
    EXPECT_EQ(plain.count_loops(0, 0), 1u);
}

TEST(ThreadingModel, TakesTheEngineByItsName) {
    ThreadingModel plain;
    const auto loops = plain.make_loops(2, {.engine = "poll"});
    ASSERT_TRUE(loops) << loops.error().message();
    EXPECT_EQ((*loops)->size(), 2u);
    EXPECT_EQ((*loops)->loop(1).backend().name(), "poll");
    EXPECT_FALSE(plain.make_loops(1, {.engine = "iocp"}).has_value());
}

TEST(ThreadingModel, TheLoopsOfAnEngineOfItsOwnGetTheBackendThatBelongsToIt) {
    struct Own final : ThreadingModel {
        std::string_view core_engine(std::string_view asked) const override {
            return asked == "own" ? "poll" : asked;
        }
    } model;
    const auto loops = model.make_loops(1, {.engine = "own"});
    ASSERT_TRUE(loops) << loops.error().message();
    EXPECT_EQ((*loops)->loop(0).backend().name(), "poll");
}

Result<std::unique_ptr<core::Backend>> poll_by_hand(const core::BackendOptions& options) {
    return std::make_unique<core::ReadinessBackend>("poll", core::make_poll_poller(), options);
}

TEST(ThreadingModel, ABackendOfOnesOwnComesBeforeTheName) {
    ThreadingModel plain;
    const auto loops = plain.make_loops(1, {.engine = "mine", .make_backend = poll_by_hand});
    ASSERT_TRUE(loops) << loops.error().message();
    EXPECT_EQ((*loops)->loop(0).backend().name(), "poll");
}

}  // namespace
}  // namespace tiderace::lab::engine

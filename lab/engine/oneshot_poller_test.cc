#include "lab/engine/oneshot_poller.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <vector>

namespace tiderace::lab::engine {
namespace {

using core::Afterwards;
using core::Ready;

class OneshotPollerTest : public ::testing::Test {
  protected:
    OneshotPollerTest() {
        EXPECT_EQ(
            ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_.data()), 0);
        EXPECT_EQ(poller_.set(ends_[0], 7, {.readable = true}, false), 0);
    }
    ~OneshotPollerTest() override {
        for (const int fd : ends_) ::close(fd);
    }
    void say() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
    std::vector<Ready> told() {
        std::array<Ready, 8> ready;
        const int count = poller_.wait(ready, Duration::zero());
        EXPECT_GE(count, 0);
        return {ready.begin(), ready.begin() + count};
    }

    OneshotPoller poller_;
    std::array<int, 2> ends_{};
};

TEST_F(OneshotPollerTest, TellsAgainAtEachWaitWhatIsLeftAlone) {
    say();
    for (int i = 0; i < 3; ++i) {
        const std::vector<Ready> ready = told();
        ASSERT_EQ(ready.size(), 1U) << i;
        EXPECT_EQ(ready[0].fd, ends_[0]);
        EXPECT_EQ(ready[0].generation, 7U);
        EXPECT_TRUE(ready[0].readable);
        EXPECT_FALSE(ready[0].writable);
    }
}

TEST_F(OneshotPollerTest, AnInterestThatWasSetAfterTheEventIsTheOneThatIsArmed) {
    say();
    ASSERT_EQ(told().size(), 1U);
    EXPECT_EQ(poller_.set(ends_[0], 7, {.writable = true}, true), 0);
    const std::vector<Ready> ready = told();
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_FALSE(ready[0].readable);
    EXPECT_TRUE(ready[0].writable);
    EXPECT_EQ(poller_.set(ends_[0], 7, {}, true), 0);
    EXPECT_TRUE(told().empty());
}

TEST_F(OneshotPollerTest, OneThatWasRemovedAfterItsEventIsNotArmedAgain) {
    say();
    ASSERT_EQ(told().size(), 1U);
    poller_.remove(ends_[0], Afterwards::open);
    EXPECT_TRUE(told().empty());
    EXPECT_EQ(poller_.set(ends_[0], 8, {.readable = true}, false), 0) << "it was forgotten";
    const std::vector<Ready> ready = told();
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_EQ(ready[0].generation, 8U);
}

TEST_F(OneshotPollerTest, AWakeEndsOneWaitAndIsNoDescriptorOfTheCallers) {
    poller_.wake();
    std::array<Ready, 8> ready;
    EXPECT_EQ(poller_.wait(ready, Duration(-1)), 0);
    poller_.wake();
    EXPECT_EQ(poller_.wait(ready, Duration(-1)), 0) << "the waker is no one-shot";
}

}  // namespace
}  // namespace tiderace::lab::engine

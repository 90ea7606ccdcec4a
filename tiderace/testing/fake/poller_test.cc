#include "tiderace/testing/fake/poller.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <utility>

namespace tiderace::testing {
namespace {

class FakePollerTest : public ::testing::Test {
  protected:
    FakePollerTest() {
        const int listener = network_.open_socket(AF_INET, SOCK_STREAM, 0);
        network_.listen(listener, 64);
        for (auto& [peer, fd] : connections_) {
            peer = network_.dial(network_.socket(listener)->local).socket;
            fd = network_.accept(listener, nullptr, nullptr);
        }
        fd_ = connections_[0].second;
        peer_ = connections_[0].first;
    }
    int wait(Duration wait_max) { return poller_.wait(ready_, wait_max); }

    ManualClock clock_;
    FakeNetwork network_{clock_, {}};
    FakeWait waiting_{network_};
    FakePoller poller_{network_, waiting_};
    std::array<std::pair<std::shared_ptr<FakeSocket>, int>, 4> connections_;
    std::shared_ptr<FakeSocket> peer_;
    int fd_;
    std::array<core::Ready, 2> ready_;
};

TEST_F(FakePollerTest, ReportsWhatIsWantedAndAgainUntilItIsDone) {
    poller_.set(fd_, 7, {.readable = true}, false);
    EXPECT_EQ(wait(0s), 0);
    peer_->put("x");
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(wait(0s), 1);
        EXPECT_EQ(ready_[0].fd, fd_);
        EXPECT_EQ(ready_[0].generation, 7U);
        EXPECT_TRUE(ready_[0].readable);
        EXPECT_FALSE(ready_[0].writable);
    }
    poller_.set(fd_, 7, {.writable = true}, true);
    ASSERT_EQ(wait(0s), 1);
    EXPECT_FALSE(ready_[0].readable);
    EXPECT_TRUE(ready_[0].writable);
    poller_.remove(fd_, core::Afterwards::closed);
    EXPECT_EQ(wait(0s), 0);
}

TEST_F(FakePollerTest, ReportsDescriptorsOfTheRealSystemToo) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    EXPECT_EQ(poller_.set(ends[0], 3, {.readable = true}, false), 0);
    EXPECT_EQ(wait(0s), 0);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    peer_->put("x");
    poller_.set(fd_, 7, {.readable = true}, false);
    ASSERT_EQ(wait(0s), 2);
    EXPECT_EQ(std::set({ready_[0].fd, ready_[1].fd}), std::set({fd_, ends[0]}));
    poller_.remove(fd_, core::Afterwards::closed);
    poller_.set(ends[0], 3, {.writable = true}, true);
    ASSERT_EQ(wait(0s), 1);
    EXPECT_TRUE(ready_[0].writable);
    EXPECT_FALSE(ready_[0].readable);
    poller_.set(ends[0], 3, {}, true);
    ::close(ends[1]);
    ASSERT_EQ(wait(0s), 1);
    EXPECT_TRUE(ready_[0].failed);
    poller_.remove(ends[0], core::Afterwards::closed);
    ::close(ends[0]);
    EXPECT_EQ(poller_.set(ends[0], 3, {}, false), -EBADF);
}

TEST_F(FakePollerTest, ReportsAnEndWithoutInterest) {
    poller_.set(fd_, 1, {.readable = true}, false);
    poller_.set(fd_, 1, {}, true);
    peer_->reset();
    ASSERT_EQ(wait(0s), 1);
    EXPECT_TRUE(ready_[0].failed);
}

TEST_F(FakePollerTest, EverybodyHasATurnWhenThereIsLittleRoom) {
    for (const auto& [peer, fd] : connections_) {
        poller_.set(fd, 1, {.readable = true}, false);
        peer->put("x");
    }
    std::set<int> seen;
    for (int round = 0; round < 2; ++round) {
        ASSERT_EQ(wait(0s), 2);
        seen.insert({ready_[0].fd, ready_[1].fd});
    }
    EXPECT_EQ(seen.size(), 4U);
}

TEST_F(FakePollerTest, WaitingMovesTheClockToTheNextEventOrTheEnd) {
    poller_.set(fd_, 1, {.readable = true}, false);
    const Instant began = clock_.now();
    EXPECT_EQ(wait(3s), 0);
    EXPECT_EQ(clock_.now() - began, 3s);
    network_.at(began + 5s, [&] { peer_->put("x"); });
    EXPECT_EQ(wait(1h), 1);
    EXPECT_EQ(clock_.now() - began, 5s);
}

TEST_F(FakePollerTest, AWakeEndsAWaitAtOnce) {
    const Instant began = clock_.now();
    poller_.wake();
    EXPECT_EQ(wait(3s), 0);
    EXPECT_EQ(clock_.now(), began);
    EXPECT_EQ(wait(3s), 0);
    EXPECT_EQ(clock_.now() - began, 3s);
}

TEST_F(FakePollerTest, SaysWhenNothingWillEverHappen) {
    EXPECT_EQ(wait(Duration(-1)), 0);
    EXPECT_TRUE(waiting_.nothing_to_come());
    EXPECT_EQ(wait(0s), 0);
    EXPECT_FALSE(waiting_.nothing_to_come());
}

TEST_F(FakePollerTest, IsInterruptedAndReportsWhatIsNotReadyByThePlan) {
    poller_.set(fd_, 1, {.readable = true}, false);
    network_.plan().spurious_ready = FaultPlan::always;
    ASSERT_EQ(wait(0s), 1);
    EXPECT_TRUE(ready_[0].readable);
    network_.plan().interrupted = FaultPlan::always;
    EXPECT_EQ(wait(0s), -EINTR);
}

TEST_F(FakePollerTest, ASpinningLoopAborts) {
    EXPECT_DEATH(
        for (std::uint64_t i = 0; i <= FakeWait::turns_per_moment_max; ++i) { wait(0s); }, "spins");
}

}  // namespace
}  // namespace tiderace::testing

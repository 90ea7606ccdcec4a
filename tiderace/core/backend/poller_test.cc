// The promises of every level-triggered poller; engines are compared in core/backend_test.cc.
#include "tiderace/core/backend/poller.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/core/backend.h"
#include "tiderace/core/backend/epoll.h"
#include "tiderace/core/backend/poll.h"
#include "tiderace/core/backend/select.h"

namespace tiderace::core {
namespace {

constexpr Interest only_readable{.readable = true};

std::unique_ptr<Poller> make_poller(const std::string& name) {
    if (name == "poll") return make_poll_poller();
    if (name == "select") return make_select_poller();
    return make_epoll_poller();
}

class LevelPoller : public ::testing::TestWithParam<const char*> {
  protected:
    static constexpr std::size_t count = 3;

    void SetUp() override {
        if (poller_ == nullptr) GTEST_SKIP() << "this system has no epoll";
        for (std::size_t i = 0; i < count; ++i) {
            std::array<int, 2> ends{};
            ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
            near_.push_back(ends[0]);
            far_.push_back(ends[1]);
        }
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(poller_->set(near_[i], generation(i), only_readable, false), 0);
        }
    }
    void TearDown() override {
        for (const int fd : near_) ::close(fd);
        for (const int fd : far_) ::close(fd);
    }
    static std::uint32_t generation(std::size_t i) { return 100 + static_cast<std::uint32_t>(i); }
    void all_get_a_byte() {
        for (const int fd : far_) ASSERT_EQ(::write(fd, "x", 1), 1);
    }
    std::vector<Ready> wait(std::size_t room = 8) {
        std::array<Ready, 8> ready;
        const int told = poller_->wait(std::span(ready).first(room), Duration::zero());
        EXPECT_GE(told, 0);
        return {ready.begin(), ready.begin() + told};
    }
    std::vector<int> descriptors(std::size_t room = 8) {
        std::vector<int> fds;
        for (const Ready& each : wait(room)) fds.push_back(each.fd);
        return fds;
    }

    std::unique_ptr<Poller> poller_ = make_poller(GetParam());
    std::vector<int> near_, far_;
};

INSTANTIATE_TEST_SUITE_P(Pollers, LevelPoller, ::testing::Values("epoll", "poll", "select"),
                         [](const auto& poller) { return std::string(poller.param); });

TEST_P(LevelPoller, ReportsWhatIsReadyWithItsGeneration) {
    ASSERT_EQ(::write(far_[1], "x", 1), 1);
    std::vector<Ready> ready = wait();
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_EQ(ready[0].fd, near_[1]);
    EXPECT_EQ(ready[0].generation, generation(1));
    EXPECT_TRUE(ready[0].readable);
    EXPECT_FALSE(ready[0].writable);
    ASSERT_EQ(poller_->set(near_[1], 7, {.writable = true}, true), 0);
    ready = wait();
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_EQ(ready[0].generation, 7U);
    EXPECT_FALSE(ready[0].readable);
    EXPECT_TRUE(ready[0].writable);
}

TEST_P(LevelPoller, WithRoomForOneAllTakeTurnsAndNoneIsReportedTwiceInAWait) {
    all_get_a_byte();
    std::set<int> reported;
    for (std::size_t i = 0; i < count; ++i) {
        const std::vector<int> one = descriptors(1);
        ASSERT_EQ(one.size(), 1U);
        reported.insert(one[0]);
        std::vector<int> all = descriptors();  // wherever the turn stands
        std::ranges::sort(all);
        EXPECT_EQ(all, near_) << "after " << i + 1 << " turns";
    }
    EXPECT_EQ(reported, std::set(near_.begin(), near_.end()));
}

TEST_P(LevelPoller, TheOthersAreStillWatchedAfterOneIsRemoved) {
    for (const std::size_t removed : {std::size_t{2}, std::size_t{0}}) {
        poller_->remove(near_[removed], Afterwards::open);
        all_get_a_byte();
        std::vector<int> left = near_;
        std::erase(left, near_[removed]);
        std::vector<int> reported;
        for (const Ready& each : wait()) {
            const auto at = std::ranges::find(near_, each.fd) - near_.begin();
            EXPECT_EQ(each.generation, generation(static_cast<std::size_t>(at)));
            reported.push_back(each.fd);
        }
        std::ranges::sort(reported);
        EXPECT_EQ(reported, left) << "without number " << removed;
        ASSERT_EQ(poller_->set(near_[removed], generation(removed), only_readable, false), 0);
    }
}

TEST_P(LevelPoller, NothingIsReportedOfOneThatIsRemoved) {
    ASSERT_EQ(poller_->set(near_[1], 1, {.readable = true, .writable = true}, true), 0);
    ASSERT_EQ(::write(far_[1], "x", 1), 1);
    EXPECT_EQ(descriptors(), std::vector{near_[1]});
    poller_->remove(near_[1], Afterwards::open);
    EXPECT_EQ(descriptors(), std::vector<int>{});
    ASSERT_EQ(poller_->set(near_[1], 2, {.writable = true}, false), 0);
    const std::vector<Ready> ready = wait();
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_FALSE(ready[0].readable) << "of before";
}

TEST_P(LevelPoller, AHangUpIsAFailureAlsoWithoutInterest) {
    if (GetParam() == std::string_view("select")) GTEST_SKIP() << "select() knows none";
    ASSERT_EQ(::write(far_[0], "x", 1), 1);
    std::vector<Ready> ready = wait();
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_FALSE(ready[0].failed);
    ASSERT_EQ(poller_->set(near_[1], generation(1), {}, true), 0);
    ::close(std::exchange(far_[1], ::dup(far_[0])));
    ready = wait();
    ASSERT_EQ(ready.size(), 2U);
    for (const Ready& each : ready) EXPECT_EQ(each.failed, each.fd == near_[1]);
}

TEST_P(LevelPoller, AWakeEndsOneWaitAndIsNoDescriptorOfTheCallers) {
    poller_->wake();
    poller_->wake();
    std::array<Ready, 8> ready;
    EXPECT_EQ(poller_->wait(ready, Duration(-1)), 0);
    ASSERT_EQ(::write(far_[0], "x", 1), 1);
    poller_->wake();
    EXPECT_EQ(descriptors(), std::vector{near_[0]});
    EXPECT_EQ(descriptors(), std::vector{near_[0]}) << "the wake is used up";
}

// It would write behind its sets of 1,024 numbers.
TEST(SelectPoller, IsNotMadeWhereItsOwnDescriptorHasNoPlace) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit raised{.rlim_cur = FD_SETSIZE + 64, .rlim_max = before.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) GTEST_SKIP() << "no more descriptors here";
    std::vector<int> fillers;
    while (fillers.empty() || fillers.back() < FD_SETSIZE) fillers.push_back(::dup(STDERR_FILENO));
    EXPECT_EQ(make_select_poller(), nullptr);
    const auto refused = make_backend("select", {});
    EXPECT_EQ(refused ? 0 : refused.error().code(), EMFILE);
    for (const int fd : fillers) ::close(fd);
    EXPECT_NE(make_select_poller(), nullptr);
    ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(TimeoutMs, IsRoundedUpAndBounded) {
    EXPECT_EQ(timeout_ms(Duration(-1)), -1);
    EXPECT_EQ(timeout_ms(Duration::zero()), 0);
    EXPECT_EQ(timeout_ms(Duration(1)), 1);
    EXPECT_EQ(timeout_ms(1ms), 1);
    EXPECT_EQ(timeout_ms(1ms + Duration(1)), 2);
    EXPECT_EQ(timeout_ms(Duration::max()), std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace tiderace::core

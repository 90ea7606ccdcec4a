#include "tiderace/core/backend/epoll_edge.h"

#if defined(__linux__)

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace tiderace::core {
namespace {

constexpr Interest reading{.readable = true};

class EdgePoller : public ::testing::Test {
  protected:
    EdgePoller() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, a_.data()),
                  0);
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b_.data()),
                  0);
        EXPECT_EQ(poller_->set(a_[0], 7, reading, false), 0);
        EXPECT_EQ(poller_->set(b_[0], 8, reading, false), 0);
    }
    ~EdgePoller() override {
        for (const int fd : {a_[0], b_[0]}) poller_->remove(fd);
        for (const int fd : {a_[0], a_[1], b_[0], b_[1]}) ::close(fd);
    }
    static void say(int fd) { EXPECT_EQ(::write(fd, "x", 1), 1); }
    // Who is told of, with room for so many.
    std::vector<int> told(std::size_t room = 8) {
        std::array<Ready, 8> ready;
        const int count = poller_->wait(std::span(ready).first(room), Duration::zero());
        std::vector<int> fds;
        for (int i = 0; i < count; ++i) fds.push_back(ready[static_cast<std::size_t>(i)].fd);
        return fds;
    }

    std::unique_ptr<Poller> poller_ = make_edge_poller();
    std::array<int, 2> a_{}, b_{};
};

TEST_F(EdgePoller, TellsOnUntilItIsExhaustedAndOfNewBytesAgain) {
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
    EXPECT_EQ(told(), std::vector{a_[0]}) << "left alone for a turn";
    poller_->exhausted(a_[0], reading);
    EXPECT_TRUE(told().empty());
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
}

TEST_F(EdgePoller, WhatLeavesSomethingComesAfterTheOthers) {
    say(a_[1]);
    say(b_[1]);
    EXPECT_EQ(told(1), std::vector{a_[0]});
    EXPECT_EQ(told(1), std::vector{b_[0]});
    EXPECT_EQ(told(1), std::vector{a_[0]});
}

TEST_F(EdgePoller, AnEndBehindTheBytesIsToldThoughAllOfThemWereTaken) {
    say(a_[1]);
    ::shutdown(a_[1], SHUT_WR);
    EXPECT_EQ(told(), std::vector{a_[0]});
    poller_->exhausted(a_[0], reading);
    EXPECT_EQ(told(), std::vector{a_[0]});
}

TEST_F(EdgePoller, WhatWasSaidWhileNobodyWantedItIsToldWhenSomebodyDoes) {
    EXPECT_EQ(poller_->set(a_[0], 7, {}, true), 0);
    say(a_[1]);
    EXPECT_TRUE(told().empty());
    EXPECT_EQ(poller_->set(a_[0], 7, reading, true), 0);
    EXPECT_EQ(told(), std::vector{a_[0]});
}

TEST_F(EdgePoller, OneThatWasRemovedIsNotToldThoughItsNumberIsUsedAgain) {
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
    poller_->remove(a_[0]);
    EXPECT_TRUE(told().empty());
    EXPECT_EQ(poller_->set(a_[0], 9, {}, false), 0);
    EXPECT_TRUE(told().empty());
}

}  // namespace
}  // namespace tiderace::core

#endif

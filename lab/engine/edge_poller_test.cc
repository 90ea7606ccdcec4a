#include "lab/engine/edge_poller.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <vector>

namespace tiderace::lab::engine {
namespace {

using core::Afterwards;
using core::Interest;
using core::Ready;

constexpr Interest reading{.readable = true};
constexpr Interest writing{.writable = true};

class EdgePollerTest : public ::testing::Test {
  protected:
    EdgePollerTest() {
        for (auto* ends : {&a_, &b_}) {
            EXPECT_EQ(
                ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends->data()),
                0);
        }
        EXPECT_EQ(poller_.set(a_[0], 7, reading, false), 0);
        EXPECT_EQ(poller_.set(b_[0], 8, reading, false), 0);
        // A connection of ours: a call for it was seen.
        for (const int fd : {a_[0], b_[0]}) EXPECT_EQ(take(fd), "");
    }
    ~EdgePollerTest() override {
        for (const int fd : {a_[0], b_[0]}) poller_.remove(fd, Afterwards::closed);
        for (const int fd : {a_[0], a_[1], b_[0], b_[1]}) ::close(fd);
    }
    static void say(int fd) { EXPECT_EQ(::write(fd, "x", 1), 1); }
    // Receives as the backend does, with room for so many bytes.
    std::string take(int fd, std::size_t room = 64) {
        std::string bytes(room, '\0');
        const ssize_t got = poller_.kernel().receive(fd, bytes.data(), room);
        bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return bytes;
    }
    void fill(int fd) {
        std::string much(1 << 16, 'x');
        const iovec piece{much.data(), much.size()};
        while (poller_.kernel().send(fd, &piece, 1, false) == static_cast<ssize_t>(much.size())) {
        }
    }
    static void drain(int fd) {
        std::vector<char> taken(1 << 20);
        while (::read(fd, taken.data(), taken.size()) > 0) {
        }
    }
    // The descriptors reported, with room for so many.
    std::vector<int> told(std::size_t room = 8) {
        std::array<Ready, 8> ready;
        const int count = poller_.wait(std::span(ready).first(room), Duration::zero());
        std::vector<int> fds;
        for (int i = 0; i < count; ++i) fds.push_back(ready[static_cast<std::size_t>(i)].fd);
        return fds;
    }

    EdgePoller poller_{core::system_kernel()};
    std::array<int, 2> a_{}, b_{};
};

TEST_F(EdgePollerTest, TellsOnUntilAllIsTakenAndOfNewBytesAgain) {
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
    EXPECT_EQ(told(), std::vector{a_[0]}) << "left alone for a turn";
    EXPECT_EQ(take(a_[0]), "x");
    EXPECT_TRUE(told().empty()) << "a short count shows that nothing is left";
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
}

TEST_F(EdgePollerTest, AFullBufferMayHaveLeftSomething) {
    say(a_[1]);
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
    EXPECT_EQ(take(a_[0], 1), "x");
    EXPECT_EQ(told(), std::vector{a_[0]});
    EXPECT_EQ(take(a_[0], 1), "x");
    EXPECT_EQ(told(), std::vector{a_[0]}) << "it is not yet known to be empty";
    EXPECT_EQ(take(a_[0], 1), "");
    EXPECT_TRUE(told().empty());
}

TEST_F(EdgePollerTest, WhatLeavesSomethingComesAfterTheOthers) {
    say(a_[1]);
    say(b_[1]);
    const std::vector<int> first = told(1), second = told(1), third = told(1);
    EXPECT_NE(first, second);
    EXPECT_EQ(first, third);
}

TEST_F(EdgePollerTest, AnEndBehindTheBytesIsToldThoughAllOfThemWereTaken) {
    say(a_[1]);
    ::shutdown(a_[1], SHUT_WR);
    EXPECT_EQ(told(), std::vector{a_[0]});
    EXPECT_EQ(take(a_[0]), "x");
    EXPECT_EQ(told(), std::vector{a_[0]});
}

TEST_F(EdgePollerTest, WhatWasReportedWhileNobodyWantedItIsToldWhenSomebodyDoes) {
    EXPECT_EQ(poller_.set(a_[0], 7, {}, true), 0);
    say(a_[1]);
    EXPECT_TRUE(told().empty());
    EXPECT_EQ(poller_.set(a_[0], 7, reading, true), 0);
    EXPECT_EQ(told(), std::vector{a_[0]});
}

TEST_F(EdgePollerTest, RoomIsToldOnUntilItIsUsedUpAndNewRoomIsToldAgain) {
    EXPECT_EQ(poller_.set(a_[0], 7, writing, true), 0);
    EXPECT_EQ(told(), std::vector{a_[0]});
    EXPECT_EQ(told(), std::vector{a_[0]});
    fill(a_[0]);
    EXPECT_TRUE(told().empty());
    drain(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
}

TEST_F(EdgePollerTest, WhatIsFullBeforeItIsWatchedIsToldOnceThereIsRoom) {
    poller_.remove(a_[0], Afterwards::open);
    fill(a_[0]);
    EXPECT_EQ(poller_.set(a_[0], 9, writing, false), 0);
    EXPECT_TRUE(told().empty());
    drain(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
}

TEST_F(EdgePollerTest, OneIsToldOnceInAWaitHoweverOftenItIsSet) {
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(poller_.set(a_[0], 7, reading, true), 0);
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
}

TEST_F(EdgePollerTest, OneThatWasRemovedIsNotToldThoughItsNumberIsUsedAgain) {
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
    poller_.remove(a_[0], Afterwards::open);
    EXPECT_TRUE(told().empty());
    EXPECT_EQ(poller_.set(a_[0], 9, {}, false), 0);
    EXPECT_TRUE(told().empty());
}

// Another library's descriptor: it is read by calls that the poller does not see.
class ForeignDescriptor : public EdgePollerTest {
  protected:
    ForeignDescriptor() {
        poller_.remove(a_[0], Afterwards::open);
        EXPECT_EQ(poller_.set(a_[0], 9, reading, false), 0);
    }
};

TEST_F(ForeignDescriptor, IsToldAtEachWaitAsLongAsItIsReady) {
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
    EXPECT_EQ(told(), std::vector{a_[0]}) << "its bytes are still there";
    drain(a_[0]);
    EXPECT_TRUE(told().empty());
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
}

TEST_F(ForeignDescriptor, IsNotToldOfWhatWasTakenBeforeThereWasRoomToTellIt) {
    say(a_[1]);
    say(b_[1]);
    const std::vector<int> first = told(1);  // the other one waits
    drain(a_[0]);
    if (first == std::vector{a_[0]}) {
        EXPECT_EQ(told(), std::vector{b_[0]});
    } else {
        EXPECT_EQ(first, std::vector{b_[0]});
        EXPECT_EQ(told(), std::vector{b_[0]});
    }
}

TEST_F(ForeignDescriptor, ANewInterestIsAnsweredByWhatIsSoNow) {
    say(a_[1]);
    EXPECT_EQ(told(), std::vector{a_[0]});
    EXPECT_EQ(poller_.set(a_[0], 9, writing, true), 0);
    EXPECT_EQ(told(), std::vector{a_[0]});
    drain(a_[0]);
    EXPECT_EQ(poller_.set(a_[0], 9, reading, true), 0);
    EXPECT_TRUE(told().empty()) << "the bytes that were reported are gone";
}

}  // namespace
}  // namespace tiderace::lab::engine

#include "lab/engine/nudge.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

namespace tiderace::lab::engine {
namespace {

class NudgeTest : public ::testing::Test {
  protected:
    NudgeTest() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0); }
    ~NudgeTest() override {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    // As a backend does: a call that brought nothing leaves a timeout that is not to be trusted.
    ssize_t receive() {
        char byte;
        const ssize_t got = ::recv(ends_[0], &byte, 1, 0);
        const int fault = errno;
        const timeval none{};
        ::setsockopt(ends_[0], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
        return got < 0 ? -fault : got;
    }

    int ends_[2];
    Nudge nudge_;
};

TEST_F(NudgeTest, BeforeAReceiveMakesItNotBegin) {
    EXPECT_FALSE(nudge_.nudge());
    EXPECT_FALSE(nudge_.nudge());
    EXPECT_FALSE(nudge_.begin(ends_[0]));
    EXPECT_TRUE(nudge_.begin(ends_[0])) << "once is enough";
    nudge_.end();
}

TEST_F(NudgeTest, BetweenBeginAndTheCallIsNotLost) {
    ASSERT_TRUE(nudge_.begin(ends_[0]));
    std::thread other([&] { EXPECT_TRUE(nudge_.nudge()); });
    other.join();
    EXPECT_LT(receive(), 0) << "it would have blocked for ever";
    nudge_.end();
    EXPECT_TRUE(nudge_.begin(ends_[0])) << "and it is over with the call that it ended";
    nudge_.end();
}

TEST_F(NudgeTest, LeavesBytesForTheNextReceive) {
    ASSERT_EQ(::send(ends_[1], "x", 1, MSG_NOSIGNAL), 1);
    ASSERT_TRUE(nudge_.begin(ends_[0]));
    nudge_.nudge();
    ssize_t got = receive();
    nudge_.end();
    while (got == -EINTR || got == -EAGAIN) got = receive();
    EXPECT_EQ(got, 1);
}

// At whatever moment it comes, the call ends. A lost one hangs here.
TEST_F(NudgeTest, EndsEveryReceiveAtAnyMoment) {
    constexpr int rounds = 500;
    std::atomic<int> ended = 0;
    std::thread receiver([&] {
        while (ended < rounds) {
            if (nudge_.begin(ends_[0])) {
                receive();
                nudge_.end();
            }
            ++ended;
        }
    });
    for (int seen = 0; seen < rounds;) {
        nudge_.nudge();
        while (ended == seen && seen < rounds) std::this_thread::yield();
        seen = ended;
    }
    receiver.join();
    EXPECT_GE(ended, rounds);
}

}  // namespace
}  // namespace tiderace::lab::engine

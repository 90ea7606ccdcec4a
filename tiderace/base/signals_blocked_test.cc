#include "tiderace/base/signals_blocked.h"

#include <gtest/gtest.h>

#include <thread>

namespace tiderace {
namespace {

bool takes(int number) {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, number) == 0;
}

TEST(SignalsBlocked, AThreadInheritsThatAndTheMaskOfBeforeComesBack) {
    ASSERT_TRUE(takes(SIGUSR1));
    std::thread started;
    bool thread_takes = true;
    {
        const SignalsBlocked blocked;
        EXPECT_FALSE(takes(SIGUSR1));
        started = std::thread([&] { thread_takes = takes(SIGUSR1) || takes(SIGTERM); });
        errno = ECHILD;
    }
    EXPECT_EQ(errno, ECHILD);
    EXPECT_TRUE(takes(SIGUSR1));
    started.join();
    EXPECT_FALSE(thread_takes);
}

}  // namespace
}  // namespace tiderace

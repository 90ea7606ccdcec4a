#include "tiderace/core/signals.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <thread>
#include <utility>

namespace tiderace::core {
namespace {

using Open = Result<Signals> (*)(std::span<const int>);
constexpr std::array two{SIGUSR1, SIGUSR2};

// Blocks until the descriptor is readable: what a loop does.
int wait_for(Signals& signals) {
    pollfd ready{signals.descriptor(), POLLIN, 0};
    while (::poll(&ready, 1, -1) < 0 && errno == EINTR) {
    }
    const auto number = signals.next();
    return number ? *number : 0;
}

bool blocked(int number) {
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return sigismember(&mask, number) == 1;
}

bool has_default_action(int number) {
    struct sigaction now;
    ::sigaction(number, nullptr, &now);
    return now.sa_handler == SIG_DFL;
}

class SignalsTest : public ::testing::TestWithParam<std::pair<const char*, Open>> {
  protected:
    Signals open(std::span<const int> numbers) {
        Result<Signals> opened = GetParam().second(numbers);
        EXPECT_TRUE(opened) << opened.error().message();
        return std::move(*opened);
    }
};

TEST_P(SignalsTest, SayNothingWhenNothingHappened) {
    Signals signals = open(two);
    EXPECT_EQ(signals.next(), std::nullopt);
}

TEST_P(SignalsTest, ASignalToTheProcessIsAnEvent) {
    Signals signals = open(two);
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
    EXPECT_EQ(wait_for(signals), SIGUSR1);
    EXPECT_EQ(signals.next(), std::nullopt);
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_EQ(wait_for(signals), SIGUSR2);
}

TEST_P(SignalsTest, SeveralComeOneByOne) {
    Signals signals = open(two);
    ::kill(::getpid(), SIGUSR2);
    ::kill(::getpid(), SIGUSR1);
    std::set<int> seen{wait_for(signals)};
    seen.insert(wait_for(signals));
    EXPECT_EQ(seen, (std::set<int>{SIGUSR1, SIGUSR2}));
}

TEST_P(SignalsTest, AThreadStartedLaterIsNotInterrupted) {
    Signals signals = open(two);
    std::thread other([] { ::pthread_kill(::pthread_self(), 0); });
    ::kill(::getpid(), SIGUSR1);
    EXPECT_EQ(wait_for(signals), SIGUSR1);
    other.join();
}

TEST_P(SignalsTest, TheEndRestoresWhatWasBefore) {
    ASSERT_FALSE(blocked(SIGUSR1));
    ASSERT_TRUE(has_default_action(SIGUSR1));
    {
        Signals signals = open(two);
        EXPECT_TRUE(blocked(SIGUSR1) || !has_default_action(SIGUSR1));
    }
    EXPECT_FALSE(blocked(SIGUSR1));
    EXPECT_TRUE(has_default_action(SIGUSR1));
}

TEST_P(SignalsTest, WhatWasBlockedBeforeStaysSo) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
    {
        Signals signals = open(two);
    }
    EXPECT_FALSE(blocked(SIGUSR1));
    EXPECT_TRUE(blocked(SIGUSR2));
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

TEST_P(SignalsTest, WhatWasNotTakenIsForgottenAtTheEnd) {
    {
        Signals signals = open(two);
        ::kill(::getpid(), SIGUSR1);  // would end this process by its default action
        pollfd ready{signals.descriptor(), POLLIN, 0};
        while (::poll(&ready, 1, -1) < 0 && errno == EINTR) {
        }
    }
    Signals again = open(two);
    EXPECT_EQ(again.next(), std::nullopt);
}

TEST_P(SignalsTest, TheyMayMoveAndBeOpenedAgain) {
    for (int i = 0; i < 3; ++i) {
        Signals first = open(two);
        const int descriptor = first.descriptor();
        Signals second = std::move(first);
        EXPECT_EQ(second.descriptor(), descriptor);
        ::kill(::getpid(), SIGUSR1);
        EXPECT_EQ(wait_for(second), SIGUSR1);
    }
}

// Where a handler catches them: what it interrupts may be about to read its errno.
TEST(Signals, MoreThanThePipeHoldsChangeNoErrno) {
    auto signals = Signals::open_self_pipe(two);
    ASSERT_TRUE(signals) << signals.error().message();
    for (int i = 0; i < 70'000; ++i) {  // a pipe holds 64 KiB at most, unless it is made larger
        errno = 0;
        ASSERT_EQ(::raise(SIGUSR1), 0);
        ASSERT_EQ(errno, 0) << i;
    }
    EXPECT_EQ(wait_for(*signals), SIGUSR1);
}

TEST_P(SignalsTest, TheDescriptorDoesNotBlockAndIsNotInherited) {
    Signals signals = open(two);
    EXPECT_TRUE(::fcntl(signals.descriptor(), F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(signals.descriptor(), F_GETFD) & FD_CLOEXEC);
}

TEST_P(SignalsTest, WhatCannotBeCaughtIsRefused) {
    for (const int number : {SIGKILL, SIGSTOP, 0, -1, NSIG, 10'000}) {
        const std::array numbers{SIGUSR1, number};
        const auto refused = GetParam().second(numbers);
        ASSERT_FALSE(refused) << number;
        EXPECT_NE(refused.error().message().find(std::to_string(number)), std::string::npos);
    }
    EXPECT_FALSE(blocked(SIGUSR1));
    EXPECT_TRUE(has_default_action(SIGUSR1));
    const std::array least{SIGHUP};  // is number 1
    EXPECT_TRUE(GetParam().second(least));
}

TEST_P(SignalsTest, ASystemCallOfAnotherThreadIsNotCutShort) {
    Signals signals = open(two);
    struct sigaction now;
    ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &now), 0);
    EXPECT_TRUE(now.sa_handler == SIG_DFL || (now.sa_flags & SA_RESTART) != 0);
}

INSTANTIATE_TEST_SUITE_P(EachWay, SignalsTest,
                         ::testing::Values(std::pair{"OfThisSystem", Open(&Signals::open)},
                                           std::pair{"SelfPipe", Open(&Signals::open_self_pipe)}),
                         [](const auto& way) { return std::string(way.param.first); });

TEST(Signals, AnIgnoredSigpipeIsAnError) {
    struct sigaction before;
    ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &before), 0);
    ignore_sigpipe();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ::close(ends[0]);
    EXPECT_EQ(::write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    ::close(ends[1]);
    ::sigaction(SIGPIPE, &before, nullptr);
}

TEST(SignalsDeathTest, TwoSelfPipesAbort) {
    auto first = Signals::open_self_pipe(two);
    ASSERT_TRUE(first);
    EXPECT_DEATH(static_cast<void>(Signals::open_self_pipe(two)), "open already");
}

}  // namespace
}  // namespace tiderace::core

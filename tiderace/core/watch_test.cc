#include "tiderace/core/watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "tiderace/core/process_limits.h"
#include "tiderace/testing/engine.h"

namespace tiderace::core {
namespace {

struct Told final : Watch::Receiver {
    void on_ready(Watch& watch, Interest ready) override {
        ++times;
        last = ready;
        if (then) then(watch);
    }

    std::function<void(Watch&)> then;
    Interest last;
    int times = 0;
};

constexpr Interest readable{.readable = true};
constexpr Interest writable{.writable = true};

class EveryWatch : public ::testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        auto backend = testing::make_engine(GetParam(), {});
        ASSERT_TRUE(backend) << backend.error().message();
        loop_ = std::make_unique<EventLoop>(std::move(*backend), LoopOptions{});
        open(ends_);
        watch_.emplace(*loop_, told_);
    }
    void TearDown() override {
        watch_.reset();
        loop_.reset();
        for (const int fd : ends_) {
            if (fd >= 0) ::close(fd);
        }
    }
    static void open(int (&ends)[2]) {
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    }
    static void say(int fd) { ASSERT_EQ(::write(fd, "x", 1), 1); }
    static void hear(int fd) {
        char byte;
        ASSERT_EQ(::read(fd, &byte, 1), 1);
    }
    // Runs turns until that many reports arrived.
    void turn_until_told(int times) {
        for (int i = 0; i < 100 && told_.times < times; ++i) loop_->turn(5s);
        ASSERT_EQ(told_.times, times);
    }
    // Everything that happens by itself has happened after these.
    void settle() {
        for (int i = 0; i < 4; ++i) loop_->turn(1ms);
    }

    std::unique_ptr<EventLoop> loop_;
    Told told_;
    std::optional<Watch> watch_;
    int ends_[2] = {-1, -1};
};

INSTANTIATE_TEST_SUITE_P(Engines, EveryWatch, ::testing::ValuesIn(testing::engine_names()),
                         [](const auto& engine) {
                             std::string label = engine.param;  // no dash in a test's name
                             std::ranges::replace(label, '-', '_');
                             return label;
                         });

TEST_P(EveryWatch, TellsInEachTurnAsLongAsItIsSo) {
    ASSERT_TRUE(watch_->watch(ends_[0], readable));
    settle();
    EXPECT_EQ(told_.times, 0);
    say(ends_[1]);
    turn_until_told(1);
    EXPECT_EQ(told_.last, readable);
    turn_until_told(2);
    hear(ends_[0]);
    loop_->turn(0s);  // one may have been found already
    const int before = told_.times;
    settle();
    EXPECT_EQ(told_.times, before);
    say(ends_[1]);
    turn_until_told(before + 1);
}

TEST_P(EveryWatch, ReportsOnlyTheRequestedInterest) {
    say(ends_[1]);
    ASSERT_TRUE(watch_->watch(ends_[0], writable));
    turn_until_told(1);
    EXPECT_EQ(told_.last, writable);
    ASSERT_TRUE(watch_->change(readable));
    settle();
    EXPECT_EQ(told_.last, readable);
    ASSERT_TRUE(watch_->change({}));
    loop_->turn(0s);
    const int before = told_.times;
    settle();
    EXPECT_EQ(told_.times, before);
    ASSERT_TRUE(watch_->change({.readable = true, .writable = true}));
    Interest all;  // kqueue tells them one by one
    told_.then = [&](Watch&) {
        all.readable |= told_.last.readable;
        all.writable |= told_.last.writable;
    };
    for (int i = 0; i < 100 && !(all.readable && all.writable); ++i) loop_->turn(1s);
    EXPECT_EQ(all, (Interest{.readable = true, .writable = true}));
}

TEST_P(EveryWatch, MayChangeItsInterestInsideItsCallback) {
    told_.then = [&](Watch& watch) {
        ASSERT_TRUE(watch.change(told_.last.writable ? readable : writable));
    };
    say(ends_[1]);
    ASSERT_TRUE(watch_->watch(ends_[0], writable));
    for (int times = 1; times <= 6; ++times) {
        turn_until_told(times);
        EXPECT_EQ(told_.last, times % 2 == 1 ? writable : readable);
    }
}

TEST_P(EveryWatch, MayEndInsideItsCallback) {
    told_.then = [&](Watch&) { watch_.reset(); };
    say(ends_[1]);
    ASSERT_TRUE(watch_->watch(ends_[0], readable));
    turn_until_told(1);
    settle();
    EXPECT_EQ(told_.times, 1);
    hear(ends_[0]);  // which is open still
}

TEST_P(EveryWatch, MayGoOverToAnotherDescriptorInsideItsCallback) {
    int others[2];
    open(others);
    say(others[1]);
    say(ends_[1]);
    told_.then = [&](Watch& watch) {
        if (watch.descriptor() != ends_[0]) return;
        ASSERT_TRUE(watch.watch(others[0], readable));
    };
    ASSERT_TRUE(watch_->watch(ends_[0], readable));
    turn_until_told(2);
    EXPECT_EQ(watch_->descriptor(), others[0]);
    watch_->release();
    ::close(others[0]);
    ::close(others[1]);
}

// As libpq does when it tries the next of a host's addresses.
TEST_P(EveryWatch, FollowsADescriptorThatWasClosedAndOpenedUnderTheSameNumber) {
    ASSERT_TRUE(watch_->watch(ends_[0], readable));
    settle();
    for (int round = 1; round <= 3; ++round) {
        watch_->release();
        const int number = ends_[0];
        ::close(ends_[0]);
        ::close(ends_[1]);
        open(ends_);
        ASSERT_EQ(ends_[0], number);
        ASSERT_TRUE(watch_->watch(ends_[0], readable));
        settle();
        EXPECT_EQ(told_.times, round - 1);
        say(ends_[1]);
        turn_until_told(round);
        hear(ends_[0]);
        told_.times = round;
    }
}

TEST_P(EveryWatch, AnEventOfAClosedDescriptorIsNotReportedForItsSuccessor) {
    Told first;
    Watch other(*loop_, first);
    int others[2];
    open(others);
    // Both are ready in one turn; the first one called takes the other's descriptor away.
    const auto take = [this, &other, &others](Watch& mine) {
        Watch& yours = &mine == &other ? *watch_ : other;
        int& fd = &mine == &other ? ends_[0] : others[0];
        if (yours.descriptor() < 0) return;
        yours.release();
        ::close(fd);
        fd = ::dup(&mine == &other ? others[1] : ends_[1]);  // writable, with nothing to read
        ASSERT_TRUE(yours.watch(fd, readable));
        mine.release();
    };
    first.then = take;
    told_.then = take;
    say(ends_[1]);
    say(others[1]);
    ASSERT_TRUE(watch_->watch(ends_[0], readable));
    ASSERT_TRUE(other.watch(others[0], readable));
    settle();
    EXPECT_EQ(first.times + told_.times, 1);
    other.release();
    for (const int fd : others) ::close(fd);
}

TEST_P(EveryWatch, AHangUpIsReportedUntilNothingIsRequested) {
    ASSERT_TRUE(watch_->watch(ends_[0], readable));
    ::close(ends_[1]);
    ends_[1] = -1;
    turn_until_told(1);
    turn_until_told(2);
    EXPECT_EQ(told_.last, readable);
    ASSERT_TRUE(watch_->change({}));
    loop_->turn(0s);
    told_.times = 0;
    settle();
    EXPECT_EQ(told_.times, 0);
    ASSERT_TRUE(watch_->change(readable));
    turn_until_told(1);
}

TEST_P(EveryWatch, LeavesTheDescriptorOpenAndUnwatchedAtItsEnd) {
    ASSERT_TRUE(watch_->watch(ends_[0], readable));
    settle();
    watch_.reset();
    say(ends_[1]);
    settle();
    EXPECT_EQ(told_.times, 0);
    hear(ends_[0]);
}

TEST_P(EveryWatch, SeesWhatComesWhileItsLoopDoesNotTurn) {
    ASSERT_TRUE(watch_->watch(ends_[0], readable));
    told_.then = [&](Watch&) { loop_->stop(); };
    say(ends_[1]);
    loop_->run();
    EXPECT_EQ(told_.times, 1);
    loop_->run();  // another one, after the kernel's work was put to rest
    EXPECT_EQ(told_.times, 2);
}

TEST(SelectWatch, SaysThatItCannotHoldAHighDescriptor) {
    (void)raise_descriptor_limit();
    auto loop = std::move(*EventLoop::create({.engine = "select"}));
    Told told;
    Watch watch(*loop, told);
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    const int high = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 1'100);
    ASSERT_GE(high, 1'100);
    const auto refused = watch.watch(high, readable);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), EMFILE);
    EXPECT_NE(refused.error().message().find("1,024"), std::string::npos)
        << refused.error().message();
    EXPECT_EQ(watch.descriptor(), -1);
    ASSERT_TRUE(watch.watch(ends[0], writable));
    loop->turn(5s);
    EXPECT_EQ(told.times, 1);
    watch.release();
    for (const int fd : {ends[0], ends[1], high}) ::close(fd);
}

TEST_P(EveryWatch, AReceiverThatThrowsEndsNothingElse) {
    int others[2];
    open(others);
    Told other;
    Watch beside(*loop_, other);
    ASSERT_TRUE(watch_->watch(ends_[0], readable));
    ASSERT_TRUE(beside.watch(others[0], readable));
    told_.then = [](Watch&) { throw std::runtime_error("a receiver"); };
    say(ends_[1]);
    say(others[1]);
    for (int i = 0; i < 100 && (told_.times < 2 || other.times < 2); ++i) {
        ASSERT_NO_THROW(loop_->turn(5s));
    }
    EXPECT_GE(told_.times, 2) << "it is ready still";
    EXPECT_GE(other.times, 2);
    beside.release();
    ::close(others[0]);
    ::close(others[1]);
}

}  // namespace
}  // namespace tiderace::core

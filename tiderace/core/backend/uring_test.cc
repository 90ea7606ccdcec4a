#include "tiderace/core/backend/uring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "tiderace/core/backend/io_uring.h"

namespace tiderace::core {
namespace {

// The kernel's own word, so that an engine that is not found does not just skip its tests.
bool kernel_has_what_it_needs() {
    io_uring_params parameters{};
    // SINGLE_ISSUER and DEFER_TASKRUN, which older headers do not name.
    parameters.flags = 1U << 12 | 1U << 13 | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED;
    const long opened = ::syscall(__NR_io_uring_setup, 8, &parameters);
    if (opened >= 0) ::close(static_cast<int>(opened));
    return opened >= 0;
}

TEST(Uring, OpensWhereTheKernelHasWhatItNeeds) {
    const bool opened = Uring::open().has_value();
    EXPECT_EQ(opened, kernel_has_what_it_needs());
    EXPECT_EQ(has_io_uring(), opened);
}

// The kernel is not too old, and forbids nothing.
TEST(Uring, WithoutADescriptorItGivesNoAdvice) {
    if (!has_io_uring()) GTEST_SKIP() << "this kernel has none, or does not let us";
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    none.rlim_cur = 0;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto opened = Uring::open();
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message(), "open io_uring: too many open files");
}

class OpenUring : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!has_io_uring()) GTEST_SKIP() << "this kernel has none, or does not let us";
        ring_ = std::move(*Uring::open());
        ring_->enter(Duration::zero());
    }
    void ask(std::uint64_t tag) {
        io_uring_sqe& nothing = ring_->take(0);
        io_uring_prep_nop(&nothing);
        nothing.user_data = tag;
    }
    std::vector<std::uint64_t> completed() {
        ring_->enter(Duration::zero());
        std::vector<Uring::Completion> done;
        ring_->collect(done);
        std::vector<std::uint64_t> tags;
        for (const Uring::Completion& each : done) tags.push_back(each.tag);
        return tags;
    }

    std::unique_ptr<Uring> ring_;
};

TEST_F(OpenUring, CompletesWhatWasTaken) {
    ask(1);
    ask(2);
    EXPECT_EQ(completed(), (std::vector<std::uint64_t>{1, 2}));
    EXPECT_TRUE(completed().empty());
}

TEST_F(OpenUring, HandsOverInBetweenWhatIsBeyondItsRoom) {
    const unsigned batch = ring_->batch();
    for (std::uint64_t tag = 1; tag <= Uring::submissions; ++tag) ask(tag);
    EXPECT_FALSE(ring_->has_room());
    EXPECT_EQ(ring_->batch(), batch);
    ask(Uring::submissions + 1);
    EXPECT_TRUE(ring_->has_room());
    EXPECT_NE(ring_->batch(), batch);
    EXPECT_EQ(completed().size(), Uring::submissions + 1);
}

TEST_F(OpenUring, KeepsWhatIsBeyondItsRoomUntilItIsFirstEntered) {
    constexpr std::uint64_t count = 2 * Uring::submissions + 2;
    ring_ = std::move(*Uring::open());
    const unsigned batch = ring_->batch();
    for (std::uint64_t tag = 1; tag <= count; ++tag) ask(tag);
    EXPECT_EQ(ring_->batch(), batch);
    EXPECT_FALSE(ring_->has_room());
    EXPECT_TRUE(ring_->withdraw(1));
    EXPECT_TRUE(ring_->withdraw(count));
    EXPECT_FALSE(ring_->withdraw(count)) << "withdrawn already";
    const std::vector<std::uint64_t> tags = completed();
    EXPECT_NE(ring_->batch(), batch);
    ASSERT_EQ(tags.size(), count);
    // A withdrawn one completes as nothing.
    EXPECT_EQ(tags.front(), 0U);
    EXPECT_EQ(tags.back(), 0U);
    for (std::uint64_t tag = 2; tag < count; ++tag) EXPECT_EQ(tags[tag - 1], tag);
    EXPECT_TRUE(ring_->has_room());
    EXPECT_TRUE(completed().empty());
}

TEST_F(OpenUring, TakesBackOnlyWhatTheKernelDoesNotHave) {
    ask(1);
    ask(2);
    ask(3);
    EXPECT_TRUE(ring_->withdraw(2));
    EXPECT_FALSE(ring_->withdraw(2)) << "withdrawn already";
    EXPECT_FALSE(ring_->withdraw(4)) << "never taken";
    const std::vector<std::uint64_t> tags = completed();
    EXPECT_EQ(std::ranges::count(tags, 2U), 0);
    EXPECT_EQ(std::ranges::count(tags, 1U), 1);
    EXPECT_EQ(std::ranges::count(tags, 3U), 1);
    EXPECT_FALSE(ring_->withdraw(1)) << "the kernel has had it";
}

TEST_F(OpenUring, KnowsThatSomethingHappenedThatIsNotCompletedYet) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    io_uring_sqe& poll = ring_->take(0);
    io_uring_prep_poll_add(&poll, ends[0], POLLIN);
    poll.user_data = 7;
    EXPECT_TRUE(completed().empty());
    EXPECT_FALSE(ring_->has_more());
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    EXPECT_TRUE(ring_->has_more());
    EXPECT_EQ(completed(), std::vector<std::uint64_t>{7});
    EXPECT_FALSE(ring_->has_more());
    for (const int fd : ends) ::close(fd);
}

TEST_F(OpenUring, CancelsWhatIsInFlightAndCollectsItsEnds) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    for (std::uint64_t tag = 1; tag <= 3; ++tag) {
        io_uring_sqe& poll = ring_->take(0);
        io_uring_prep_poll_add(&poll, ends[0], POLLIN);
        poll.user_data = tag;
    }
    // Reports what is ready, and stays in flight.
    io_uring_sqe& again = ring_->take(0);
    io_uring_prep_poll_multishot(&again, ends[1], POLLOUT);
    again.user_data = 4;
    EXPECT_EQ(completed(), std::vector<std::uint64_t>{4});
    std::vector<Uring::Completion> done;
    ring_->cancel_all(done);
    for (std::uint64_t tag = 1; tag <= 4; ++tag) {
        const auto ended = [&](const Uring::Completion& each) {
            return each.tag == tag && each.result == -ECANCELED;
        };
        EXPECT_EQ(std::ranges::count_if(done, ended), 1) << tag;
    }
    done.clear();
    ring_->cancel_all(done);
    EXPECT_TRUE(done.empty()) << "nothing is in flight, so nothing is submitted";
    ask(5);
    EXPECT_EQ(completed(), std::vector<std::uint64_t>{5});
    ::close(ends[0]);
    ::close(ends[1]);
}

// The submissions lie in a ring, so a later one may have the lower place.
TEST_F(OpenUring, TakesBackWhateverItsPlaceInTheRing) {
    for (unsigned before : {Uring::submissions - 2, Uring::submissions - 1, 1U}) {
        for (std::uint64_t tag = 100; tag < 100 + before; ++tag) ask(tag);
        EXPECT_EQ(completed().size(), before);
        for (std::uint64_t tag = 1; tag <= 4; ++tag) ask(tag);
        EXPECT_TRUE(ring_->withdraw(1));
        EXPECT_TRUE(ring_->withdraw(4));
        EXPECT_FALSE(ring_->withdraw(100)) << "the kernel has had it";
        EXPECT_EQ(completed(), (std::vector<std::uint64_t>{0, 2, 3, 0}));
    }
}

// As in a server that was started without a standard input.
TEST(Uring, ThatHasTheNumberZeroEndsAsAnyOther) {
    if (!has_io_uring()) GTEST_SKIP() << "this kernel has none, or does not let us";
    const int input = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    ::close(STDIN_FILENO);
    {
        const auto ring = std::move(*Uring::open());
        EXPECT_NE(::fcntl(STDIN_FILENO, F_GETFD), -1) << "another number was free";
    }
    EXPECT_EQ(::fcntl(STDIN_FILENO, F_GETFD), -1) << "it is open still";
    if (input < 0) return;
    EXPECT_EQ(::dup2(input, STDIN_FILENO), STDIN_FILENO);
    ::close(input);
}

TEST(Uring, ThatNeverTurnedHasNothingToCancel) {
    if (!has_io_uring()) GTEST_SKIP() << "this kernel has none, or does not let us";
    const auto ring = std::move(*Uring::open());
    io_uring_prep_nop(&ring->take(0));
    std::vector<Uring::Completion> done;
    ring->cancel_all(done);
    EXPECT_TRUE(done.empty());
}

}  // namespace
}  // namespace tiderace::core

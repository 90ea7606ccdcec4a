// Behaviour of io_uring alone: input that it received while it was not wanted, and wake-ups. Its
// multishot receives continue until the kernel sees that they are cancelled.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/core/backend/io_uring.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/world.h"

namespace tiderace::core {
namespace {

constexpr std::size_t piece_bytes = 4;

class InputInAPause : public ::testing::Test, public IoObserver {
  protected:
    void SetUp() override {
        if (!has_io_uring()) GTEST_SKIP() << "this kernel has none, or does not let us";
        backend_ = std::move(*make_io_uring_backend({.receive_bytes = piece_bytes}));
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
        near_ = *backend_->attach(ends[0], *this);
        far_ = ends[1];
        backend_->set_receiving(near_, true);
        turn();
    }
    void TearDown() override {
        if (near_) backend_->close(near_, {});
        if (far_ >= 0) ::close(far_);
        if (backend_ != nullptr) turn();
    }
    void turn() {
        backend_->wait(0s);
        backend_->dispatch();
    }
    void peer_says(std::string_view text) {
        ASSERT_EQ(::write(far_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    // What the peer did last has completed, and is not wanted any more.
    void pause_behind_it() {
        backend_->wait(5s);
        backend_->set_receiving(near_, false);
        backend_->dispatch();
        EXPECT_EQ(received_, "");
    }

    std::unique_ptr<Backend> backend_;
    IoHandle near_;
    int far_ = -1;
    std::string received_;
    int ends_ = 0;
    int failed_ = 0;
    bool pauses_ = false;

  private:
    void on_received(ByteView bytes) override {
        EXPECT_LE(bytes.size(), piece_bytes);
        received_ += bytes;
        ends_ += bytes.empty();
        if (pauses_) backend_->set_receiving(near_, false);
    }
    void on_receive_failed(int error) override { failed_ = error; }
};

TEST_F(InputInAPause, IsGivenPieceByPieceToAReceiverThatPausesAfterEach) {
    peer_says("abcdefghij");
    ::shutdown(far_, SHUT_WR);
    pause_behind_it();
    pauses_ = true;
    const std::string all = "abcdefghij";
    for (std::size_t bytes = 4; received_ != all; bytes += piece_bytes) {
        backend_->set_receiving(near_, true);
        for (int turns = 0; turns < 3; ++turns) turn();
        ASSERT_EQ(received_, all.substr(0, bytes));
        EXPECT_EQ(ends_, 0);
    }
    backend_->set_receiving(near_, true);
    for (int turns = 0; turns < 3; ++turns) turn();
    EXPECT_EQ(ends_, 1);
    EXPECT_EQ(received_, all);
}

TEST_F(InputInAPause, StaysInFrontOfWhatComesLater) {
    peer_says("abcdef");
    pause_behind_it();
    pauses_ = true;
    backend_->set_receiving(near_, true);
    turn();
    ASSERT_EQ(received_, "abcd");
    pauses_ = false;
    // The new bytes have come when the old ones can be given.
    backend_->set_receiving(near_, true);
    backend_->wait(0s);
    peer_says("gh");
    backend_->wait(0s);
    backend_->dispatch();
    for (int turns = 0; turns < 3; ++turns) turn();
    EXPECT_EQ(received_, "abcdefgh");
}

// The socket reports its error once, and looks like one that ended from then on.
TEST_F(InputInAPause, OfAPeerThatResetIsNoEndInOrder) {
    ASSERT_EQ(::write(near_.fd, "unread", 6), 6);
    ::close(std::exchange(far_, -1));
    pause_behind_it();
    backend_->set_receiving(near_, true);
    for (int turns = 0; turns < 3; ++turns) turn();
    EXPECT_EQ(failed_, -ECONNRESET);
    EXPECT_EQ(ends_, 0);
}

TEST_F(InputInAPause, IsGivenAlsoWhenThereWasNoMemoryToNoteThatItIsWanted) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    peer_says("abcdef");
    pause_behind_it();
    {
        const testing::ScarceMemory scarce(1);
        backend_->set_receiving(near_, true);
        ASSERT_TRUE(scarce.failed());
    }
    backend_->wait(-1s);  // returns at once: there is something to report
    backend_->dispatch();
    EXPECT_EQ(received_, "abcdef");
    turn();
    EXPECT_EQ(received_, "abcdef");
}

// Bytes of it would be lost.
TEST_F(InputInAPause, EndsItsStreamWhereThereIsNoMemoryToHoldIt) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    peer_says("one");
    backend_->wait(5s);
    backend_->dispatch();  // which also takes memory for later turns
    ASSERT_EQ(std::exchange(received_, ""), "one");
    peer_says("abcdef");
    backend_->wait(5s);
    backend_->set_receiving(near_, false);
    {
        const testing::ScarceMemory scarce(1);
        backend_->dispatch();
        ASSERT_TRUE(scarce.failed());
    }
    EXPECT_EQ(failed_, -ENOMEM);
    EXPECT_EQ(received_, "");
}

TEST_F(InputInAPause, EndsItsStreamWhereThereIsNoMemoryToHoldTheRest) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    peer_says("abcdef");
    pause_behind_it();
    pauses_ = true;
    backend_->set_receiving(near_, true);
    backend_->wait(0s);
    {
        const testing::ScarceMemory scarce(1);
        backend_->dispatch();
        ASSERT_TRUE(scarce.failed());
    }
    EXPECT_EQ(failed_, -ENOMEM);
    EXPECT_EQ(received_, "abcd");
}

// More completions than a turn may bring would make it a full one.
TEST_F(InputInAPause, ADescriptorForWhichNothingRunsIsClosedWithoutAWordToTheKernel) {
    for (int i = 0; i < 20; ++i) {
        IoHandle idle = *backend_->attach(::socket(AF_UNIX, SOCK_STREAM, 0), *this);
        backend_->close(idle, {});
    }
    backend_->wait(0s);
    EXPECT_FALSE(backend_->has_more());
    backend_->dispatch();
}

TEST_F(InputInAPause, AConnectionThatWasAcceptedAndNotReportedIsClosedWithTheEngine) {
    struct Accepting final : IoObserver {
        void on_accepted(int, const Address&) override { ADD_FAILURE() << "not in this turn"; }
    } accepting;
    testing::FailNth kernel(system_kernel());
    auto backend = std::move(*make_io_uring_backend({.kernel = &kernel}));
    testing::Listening listening = testing::listen_on_loopback(system_kernel(), 1);
    IoHandle listener = *backend->attach(listening.socket.release(), accepting);
    backend->set_accepting(listener, true);
    backend->wait(0s);
    backend->dispatch();
    sockaddr_storage at;
    const socklen_t bytes = listening.at.to_sockaddr(at);
    const Descriptor client(system_kernel(), ::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&at), bytes), 0);
    backend->wait(5s);
    backend->close(listener, {});
    const std::uint64_t before = kernel.calls(testing::Call::close);
    backend.reset();
    EXPECT_EQ(kernel.calls(testing::Call::close), before + 1);
}

// The wait would return at once, again and again. Here the timer ends it.
TEST_F(InputInAPause, NothingIsRedeliveredToOneThatIsToldTwiceToReceive) {
    struct Expiry final : IoObserver {
        void on_ready(bool readable, bool) override { expired = readable; }
        bool expired = false;
    };
    const auto waits = [&] {
        Expiry expiry;
        const Descriptor timer(system_kernel(), ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
        IoHandle handle = *backend_->attach(timer.get(), expiry);
        backend_->watch(handle, true, false);
        for (int turns = 0; turns < 3; ++turns) turn();
        const itimerspec soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 20'000'000}};
        EXPECT_EQ(::timerfd_settime(timer.get(), 0, &soon, nullptr), 0);
        backend_->set_receiving(near_, true);
        backend_->wait(-1s);
        backend_->dispatch();
        backend_->detach(handle);
        turn();
        return expiry.expired;
    };
    EXPECT_TRUE(waits());
    // Also while something is held for another.
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    IoHandle other = *backend_->attach(ends[0], *this);
    backend_->set_receiving(other, true);
    turn();
    ASSERT_EQ(::write(ends[1], "held", 4), 4);
    backend_->wait(5s);
    backend_->set_receiving(other, false);
    backend_->dispatch();
    EXPECT_TRUE(waits());
    EXPECT_EQ(received_, "");
    backend_->set_receiving(other, true);
    turn();
    EXPECT_EQ(received_, "held");
    backend_->close(other, {});
    ::close(ends[1]);
}

TEST_F(InputInAPause, AWakeUpAfterARestEndsTheWait) {
    backend_->rest();
    turn();
    backend_->wake();
    backend_->wait(-1s);
    backend_->dispatch();
}

// A listener that ends collects what has completed, wake-ups among it, after wait() looked for
// wake-ups.
TEST_F(InputInAPause, AWakeUpThatAClosingListenerCollectedIsNotTheLast) {
    struct Accepting final : IoObserver {
        void on_accepted(int fd, const Address&) override { ::close(fd); }
    } accepting;
    testing::Listening listening = testing::listen_on_loopback(system_kernel(), 1);
    IoHandle listener = *backend_->attach(listening.socket.release(), accepting);
    backend_->set_accepting(listener, true);
    turn();
    backend_->wake();
    backend_->set_accepting(listener, false);
    backend_->hand_out_accepted(listener);
    backend_->close(listener, {});
    backend_->dispatch();
    backend_->wait(-1s);  // that wake-up counts for this one
    backend_->dispatch();
    backend_->wake();
    backend_->wait(-1s);
    backend_->dispatch();
}

}  // namespace
}  // namespace tiderace::core

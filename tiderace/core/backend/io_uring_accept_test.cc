// Behaviour of io_uring alone: connections that its multishot accept takes while they may not be
// handed out, because their listener pauses or the turn has had its share.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tiderace/core/backend/io_uring.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/world.h"

namespace tiderace::core {
namespace {

class Listener final : public IoObserver {
  public:
    Listener(Backend& backend, Kernel& kernel) : backend_(&backend), kernel_(&kernel) {
        testing::Listening listening = testing::listen_on_loopback(kernel, 16);
        at_ = listening.at;
        handle = *backend.attach(listening.socket.release(), *this);
    }
    ~Listener() {
        if (handle) backend_->close(handle, {});
        for (const int fd : accepted) ::close(fd);
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    void connect(int count) {
        sockaddr_storage at;
        const socklen_t bytes = at_.to_sockaddr(at);
        for (int i = 0; i < count; ++i) {
            clients_.emplace_back(*kernel_, ::socket(AF_INET, SOCK_STREAM, 0));
            ASSERT_EQ(::connect(clients_.back().get(), reinterpret_cast<sockaddr*>(&at), bytes), 0);
        }
    }

    IoHandle handle;
    std::vector<int> accepted;

  private:
    void on_accepted(int fd, const Address&) override { accepted.push_back(fd); }

    Backend* backend_;
    Kernel* kernel_;
    Address at_;
    std::vector<Descriptor> clients_;
};

class AnAcceptingIoUring : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!has_io_uring()) GTEST_SKIP() << "this kernel has none, or does not let us";
        backend_ =
            std::move(*make_io_uring_backend({.kernel = &kernel_, .accepts_per_turn_max = 2}));
        turn();  // before the first there is no ring to hand anything to
    }
    void TearDown() override {
        if (backend_ != nullptr) turn();
    }
    void turn(Duration wait = 0s) {
        backend_->wait(wait);
        backend_->dispatch();
    }
    std::unique_ptr<Listener> listen() { return std::make_unique<Listener>(*backend_, kernel_); }
    std::uint64_t closes() const { return kernel_.calls(testing::Call::close); }

    testing::FailNth kernel_{system_kernel()};
    std::unique_ptr<Backend> backend_;
};

TEST_F(AnAcceptingIoUring, WhatIsBeyondATurnsShareOrInAPauseComesLaterAndNothingIsLost) {
    const auto listener = listen();
    const auto turn_until = [&](std::size_t count) {
        for (int i = 0; i < 100 && listener->accepted.size() < count; ++i) {
            const std::size_t before = listener->accepted.size();
            turn(1s);
            EXPECT_LE(listener->accepted.size(), before + 2);
        }
        return listener->accepted.size();
    };
    backend_->set_accepting(listener->handle, true);
    listener->connect(7);
    EXPECT_EQ(turn_until(7), 7U);
    backend_->set_accepting(listener->handle, false);
    listener->connect(3);
    for (int i = 0; i < 3; ++i) turn();
    EXPECT_EQ(listener->accepted.size(), 7U) << "in a pause nothing is handed out";
    backend_->set_accepting(listener->handle, true);
    EXPECT_EQ(turn_until(10), 10U);
}

TEST_F(AnAcceptingIoUring, WhatIsWithinATurnsShareComesInTheTurn) {
    const auto listener = listen();
    listener->connect(1);
    backend_->set_accepting(listener->handle, true);
    turn(5s);
    EXPECT_EQ(listener->accepted.size(), 1U);
}

TEST_F(AnAcceptingIoUring, AConnectionMayHaveTheNumberZero) {
    const auto listener = listen();
    listener->connect(1);
    const int input = ::dup(STDIN_FILENO);
    ::close(STDIN_FILENO);
    backend_->set_accepting(listener->handle, true);
    turn(5s);
    EXPECT_EQ(std::exchange(listener->accepted, {}), std::vector<int>{STDIN_FILENO});
    if (input >= 0) {
        EXPECT_EQ(::dup2(input, STDIN_FILENO), STDIN_FILENO);
        ::close(input);
    }
}

// A second close would hit the number's next owner.
TEST_F(AnAcceptingIoUring, WhatAClosedListenerHadNotHandedOutIsClosedOnce) {
    const auto listener = listen();
    backend_->set_accepting(listener->handle, true);
    turn();
    listener->connect(1);
    backend_->wait(5s);
    backend_->set_accepting(listener->handle, false);
    backend_->dispatch();
    const std::uint64_t before = closes();
    backend_->close(listener->handle, {});
    EXPECT_EQ(closes(), before + 2) << "the listener and its guest";
    turn();
    EXPECT_EQ(closes(), before + 2);
    EXPECT_TRUE(listener->accepted.empty());
}

TEST_F(AnAcceptingIoUring, WhatAnotherListenerHasNotHandedOutStays) {
    const auto closed = listen();
    const auto stays = listen();
    backend_->set_accepting(closed->handle, true);
    backend_->set_accepting(stays->handle, true);
    turn();
    closed->connect(1);
    stays->connect(1);
    backend_->wait(5s);
    backend_->set_accepting(closed->handle, false);
    backend_->set_accepting(stays->handle, false);
    backend_->dispatch();
    const std::uint64_t before = closes();
    backend_->close(closed->handle, {});
    EXPECT_EQ(closes(), before + 2) << "the listener and its guest";
    backend_->set_accepting(stays->handle, true);
    for (int i = 0; i < 3; ++i) turn();
    EXPECT_EQ(stays->accepted.size(), 1U);
    EXPECT_TRUE(closed->accepted.empty());
}

}  // namespace
}  // namespace tiderace::core

// Behaviour of this backend only. foreign_backend_test.cc tests what all backends share.
#include "lab/engine/blocking_backend.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace tiderace::lab::engine {
namespace {

struct Listener final : core::IoObserver {
    void on_received(ByteView bytes) override {
        if (bytes.empty()) ended = true;
        received += bytes;
    }
    void on_receive_failed(int e) override { error = e; }
    void on_sent(std::int64_t) override { ++sent; }

    std::string received;
    bool ended = false;
    int error = 0;
    int sent = 0;
};

// A connection: the near end is the backend's, the far end the test's.
struct Line {
    explicit Line(core::Backend& b) : backend(&b) {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        far = ends[1];
        handle = *b.attach(ends[0], near);
        b.set_receiving(handle, true);
    }
    ~Line() {
        if (handle) backend->close(handle, {});
        ::close(far);
    }
    void say(std::string_view text) const {
        ASSERT_EQ(::write(far, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }

    core::Backend* backend;
    Listener near;
    core::IoHandle handle;
    int far = -1;
};

class Blocking : public ::testing::Test {
  protected:
    void turn(core::Backend& backend, Duration wait = 5s) {
        backend.wait(wait);
        backend.dispatch();
    }

    std::unique_ptr<core::Backend> alone_ = std::move(*make_blocking_backend({}));
    std::unique_ptr<core::Backend> dealt_ = std::move(*make_blocking_epoll_backend({}));
};

TEST_F(Blocking, TheOnlyConnectionIsMadeOneThatBlocks) {
    Line line(*alone_);
    const int near = line.handle.fd;
    line.say("hello");
    turn(*alone_);
    EXPECT_EQ(line.near.received, "hello");
    EXPECT_EQ(::fcntl(near, F_GETFL) & O_NONBLOCK, 0);
    alone_->detach(line.handle);
    EXPECT_NE(::fcntl(near, F_GETFL) & O_NONBLOCK, 0) << "given back as it came";
    ::close(near);
}

TEST_F(Blocking, TwoInALoopForOneAreStillServedBoth) {
    Line one(*alone_), two(*alone_);
    one.say("first");
    two.say("second");
    for (int i = 0; i < 4 && (one.near.received.empty() || two.near.received.empty()); ++i) {
        turn(*alone_);
    }
    EXPECT_EQ(one.near.received, "first");
    EXPECT_EQ(two.near.received, "second");
}

TEST_F(Blocking, SticksToTheConnectionThatItReadFromUntilItEnds) {
    Line one(*dealt_), two(*dealt_);
    two.say("I was first");
    turn(*dealt_);
    ASSERT_EQ(two.near.received, "I was first");
    one.say("and I starve");
    turn(*dealt_, 20ms);
    EXPECT_EQ(one.near.received, "");
    two.say(", still");
    turn(*dealt_);
    EXPECT_EQ(two.near.received, "I was first, still");
    EXPECT_EQ(one.near.received, "");
    ::shutdown(two.far, SHUT_WR);
    turn(*dealt_);
    EXPECT_TRUE(two.near.ended);
    turn(*dealt_);
    EXPECT_EQ(one.near.received, "and I starve");
}

TEST_F(Blocking, ClosingTheOneItSticksToLetsTheOthersIn) {
    Line one(*dealt_), two(*dealt_);
    one.say("a");
    turn(*dealt_);
    two.say("b");
    dealt_->close(one.handle, {});
    turn(*dealt_);
    EXPECT_EQ(two.near.received, "b");
}

TEST_F(Blocking, WhatWasReceivedWhileReadingPausedIsKept) {
    for (core::Backend* backend : {alone_.get(), dealt_.get()}) {
        Line line(*backend);
        line.say("a");
        turn(*backend);
        line.say("b");
        backend->wait(5s);  // it has them
        backend->set_receiving(line.handle, false);
        backend->dispatch();
        turn(*backend, 0s);
        EXPECT_EQ(line.near.received, "a");
        backend->set_receiving(line.handle, true);
        turn(*backend);
        EXPECT_EQ(line.near.received, "ab");
        line.say("c");
        turn(*backend);
        EXPECT_EQ(line.near.received, "abc") << "and it goes on";
    }
}

TEST_F(Blocking, AWakeEndsTheReceive) {
    Line line(*alone_);
    for (int i = 0; i < 50; ++i) {
        std::thread other([&] { alone_->wake(); });
        turn(*alone_, Duration(-1));
        other.join();
    }
    line.say("x");
    while (line.near.received.empty()) turn(*alone_);
    EXPECT_EQ(line.near.received, "x");
}

TEST_F(Blocking, ADeadlineEndsTheReceiveAndTheNextIsHeard) {
    Line line(*alone_);
    for (const Duration wait : {Duration(5ms), Duration(0s), Duration(20ms)}) turn(*alone_, wait);
    EXPECT_EQ(line.near.received, "");
    line.say("x");
    turn(*alone_, Duration(1h));
    EXPECT_EQ(line.near.received, "x");
}

TEST_F(Blocking, ASendWaitsForTheReaderAndEndsWhole) {
    Line line(*alone_);
    line.say("?");
    turn(*alone_);
    core::BlockPool pool;
    core::SendQueue queue;
    const std::string large(8 << 20, 'x');
    queue.append(pool, large);
    std::size_t got = 0;
    std::thread reader([&] {
        ::fcntl(line.far, F_SETFL, ::fcntl(line.far, F_GETFL) & ~O_NONBLOCK);
        std::string buffer(64 << 10, '\0');
        while (got < large.size()) {
            const ssize_t piece = ::recv(line.far, buffer.data(), buffer.size(), 0);
            if (piece <= 0) break;
            got += static_cast<std::size_t>(piece);
        }
    });
    while (!queue.empty()) {
        const core::Sent sent = alone_->send(line.handle, queue);
        ASSERT_EQ(sent.error, 0);
        for (const int before = line.near.sent; sent.pending && line.near.sent == before;) {
            turn(*alone_);
        }
    }
    reader.join();
    EXPECT_EQ(got, large.size());
}

TEST_F(Blocking, ASlowReaderPausesASendWhileReceivingContinues) {
    Line line(*alone_);
    line.say("a");
    turn(*alone_);
    core::BlockPool pool;
    core::SendQueue queue;
    queue.append(pool, std::string(4 << 20, 'x'));
    const core::Sent sent = alone_->send(line.handle, queue);
    EXPECT_TRUE(sent.pending);
    EXPECT_FALSE(queue.empty());
    line.say("b");
    turn(*alone_);
    EXPECT_EQ(line.near.received, "ab") << "receiving goes on beside a send that waits";
    queue.clear();
}

TEST_F(Blocking, ADepartedPeerIsReportedAndNothingBlocks) {
    Line line(*alone_);
    line.say("a");
    turn(*alone_);
    ::close(std::exchange(line.far, ::dup(0)));
    turn(*alone_, Duration(-1));
    EXPECT_TRUE(line.near.ended || line.near.error != 0);
    core::BlockPool pool;
    core::SendQueue queue;
    queue.append(pool, "x");
    EXPECT_EQ(alone_->send(line.handle, queue).error, -EPIPE);
}

}  // namespace
}  // namespace tiderace::lab::engine

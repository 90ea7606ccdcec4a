// Behaviour of io_uring alone: answers that leave together. The behaviour of all engines is in
// core/backend_test.cc, which also runs on this engine with every answer by the ring.
#include "tiderace/core/backend/io_uring.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tiderace/core/backend/ring_operations.h"
#include "tiderace/core/backend/ring_sends.h"
#include "tiderace/core/backend/uring.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/world.h"

namespace tiderace::core {
namespace {

struct Sender final : IoObserver {
    void on_received(ByteView bytes) override {
        received += bytes;
        ends += bytes.empty();
    }
    void on_receive_failed(int error) override { failed = error; }
    void on_sent(std::int64_t result) override { sent.push_back(result); }

    std::vector<std::int64_t> sent;
    std::string received;
    int ends = 0;
    int failed = 0;
};

std::string read_all(int fd) {
    std::array<char, 1 << 16> buffer;
    std::string text;
    for (ssize_t got = 0; (got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

struct Pair {
    Pair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0); }
    std::array<int, 2> ends{};
};

// The next user of a number that was closed.
struct Newcomer {
    Newcomer(Backend& backend, int number) : backend_(&backend) {
        EXPECT_EQ(pair_.ends[0], number);
        handle_ = *backend_->attach(pair_.ends[0], sender);
    }
    ~Newcomer() {
        backend_->close(handle_, {});
        ::close(pair_.ends[1]);
    }
    Newcomer(const Newcomer&) = delete;
    Newcomer& operator=(const Newcomer&) = delete;

    std::string heard() const { return read_all(pair_.ends[1]); }

    Sender sender;

  private:
    Backend* backend_;
    Pair pair_;
    IoHandle handle_;
};

class AnIoUring : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!has_io_uring()) GTEST_SKIP() << "this kernel has none, or does not let us";
        open(0);
    }
    void TearDown() override {
        if (near_) backend_->close(near_, {});
        if (far_ >= 0) ::close(far_);
        if (backend_ != nullptr) turn();
    }
    // With so many receives in a turn its answers go by the ring.
    void open(std::size_t sends_together_min) {
        if (near_) backend_->close(near_, {});
        backend_ = std::move(
            *make_io_uring_backend({.kernel = &kernel_, .sends_together_min = sends_together_min}));
        turn();  // before the first there is no ring to hand anything to
        const Pair pair;
        near_ = *backend_->attach(pair.ends[0], sender_);
        far_ = pair.ends[1];
    }
    // The same over TCP, whose sends may be taken in part.
    void open_tcp() {
        backend_->close(near_, {});
        ::close(far_);
        const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in at{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t bytes = sizeof at;
        auto* const raw = reinterpret_cast<sockaddr*>(&at);
        ASSERT_EQ(::bind(listener, raw, bytes), 0);
        ASSERT_EQ(::listen(listener, 1), 0);
        ASSERT_EQ(::getsockname(listener, raw, &bytes), 0);
        const int near = ::socket(AF_INET, SOCK_STREAM, 0);
        const int small = 4'096;
        ::setsockopt(near, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
        ::setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        ASSERT_EQ(::connect(near, raw, bytes), 0);
        far_ = ::accept(listener, nullptr, nullptr);
        ASSERT_GE(far_, 0);
        ::close(listener);
        near_ = *backend_->attach(near, sender_);
    }
    void turn(Duration wait = 0s) {
        backend_->wait(wait);
        backend_->dispatch();
    }
    Sent send(std::string_view text) {
        queue_.append(pool_, text);
        return backend_->send(near_, queue_);
    }
    std::uint64_t calls() const { return kernel_.calls(testing::Call::send); }

    testing::FailNth kernel_{system_kernel()};
    BlockPool pool_;
    SendQueue queue_;
    std::unique_ptr<Backend> backend_;
    Sender sender_;
    IoHandle near_;
    int far_ = -1;
};

TEST_F(AnIoUring, AnAnswerLeavesWithTheNextWaitAndIsReportedInBytes) {
    const Sent sent = send("hello");
    EXPECT_TRUE(sent.pending);
    EXPECT_EQ(sent.bytes, 0U);
    EXPECT_TRUE(queue_.empty());
    EXPECT_EQ(read_all(far_), "");
    backend_->wait(0s);
    EXPECT_EQ(read_all(far_), "hello");
    backend_->dispatch();
    EXPECT_EQ(sender_.sent, std::vector<std::int64_t>{5});
    EXPECT_EQ(pool_.taken(), 0U);
    EXPECT_EQ(calls(), 0U);
}

TEST_F(AnIoUring, FewAnswersOfATurnAreSentAtOnceAndManyLeaveTogether) {
    open(2);
    const Pair other;
    Sender second;
    IoHandle handle = *backend_->attach(other.ends[0], second);
    backend_->set_receiving(near_, true);
    backend_->set_receiving(handle, true);
    ASSERT_EQ(::write(far_, "?", 1), 1);
    turn(5s);
    EXPECT_EQ(send("alone").bytes, 5U);
    EXPECT_EQ(read_all(far_), "alone");
    ASSERT_EQ(::write(far_, "?", 1), 1);
    ASSERT_EQ(::write(other.ends[1], "?", 1), 1);
    turn(5s);
    EXPECT_TRUE(send("together").pending);
    EXPECT_EQ(read_all(far_), "");
    turn();
    EXPECT_EQ(read_all(far_), "together");
    EXPECT_EQ(calls(), 1U);
    backend_->close(handle, {});
    ::close(other.ends[1]);
}

TEST_F(AnIoUring, LaterBytesGoBehindAndOneSendIsInFlightAtATime) {
    send("first, ");
    EXPECT_TRUE(send("second").pending);
    EXPECT_EQ(queue_.bytes(), 6U) << "not taken while the first is under way";
    turn();
    EXPECT_EQ(sender_.sent, std::vector<std::int64_t>{7});
    EXPECT_EQ(read_all(far_), "first, ");
    backend_->send(near_, queue_);
    turn();
    EXPECT_EQ(read_all(far_), "second");
}

TEST_F(AnIoUring, ALargeAnswerIsSentAtOnce) {
    EXPECT_EQ(send(std::string(ring_send_bytes_max + 1, 'x')).bytes, ring_send_bytes_max + 1);
    EXPECT_EQ(read_all(far_).size(), ring_send_bytes_max + 1);
    EXPECT_EQ(calls(), 1U);
}

TEST_F(AnIoUring, APeerThatVanishesInAPauseIsReportedThoughItHadSentBefore) {
    open_tcp();
    backend_->set_receiving(near_, false);
    turn();
    ASSERT_EQ(::write(far_, "unread", 6), 6);
    turn();
    EXPECT_EQ(sender_.failed, 0);
    const linger hard{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(far_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    ::close(std::exchange(far_, -1));
    turn(5s);
    EXPECT_EQ(sender_.failed, -ECONNRESET);
    EXPECT_EQ(sender_.received, "");
}

TEST_F(AnIoUring, ItsBuffersAreUsedAgainAndAgain) {
    backend_->set_receiving(near_, true);
    for (unsigned i = 0; i < 3 * Uring::buffers; ++i) {
        const std::string text = "message " + std::to_string(i);
        ASSERT_EQ(::write(far_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        for (int turns = 0; turns < 10 && sender_.received.size() < text.size(); ++turns) {
            turn(5s);
            ASSERT_FALSE(backend_->has_more()) << "no buffer was left for " << text;
        }
        ASSERT_EQ(std::exchange(sender_.received, ""), text);
    }
    EXPECT_EQ(sender_.failed, 0);
}

TEST_F(AnIoUring, AnAnswerOfOneByteIsSentOnce) {
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(send("x").pending);
        for (int turns = 0; turns < 3; ++turns) turn();
        EXPECT_EQ(read_all(far_), "x");
        EXPECT_EQ(std::exchange(sender_.sent, {}), std::vector<std::int64_t>{1});
        EXPECT_TRUE(queue_.empty());
    }
    EXPECT_EQ(pool_.taken(), 0U);
}

// It had completed before the kernel heard that it is not wanted.
TEST_F(AnIoUring, WhatCameWhileItWasNotWantedIsGivenOnceWhenItIs) {
    for (const bool ends : {false, true}) {
        SCOPED_TRACE(ends);
        backend_->set_receiving(near_, true);
        turn();
        ASSERT_EQ(::write(far_, "bytes", 5), 5);
        if (ends) ::shutdown(far_, SHUT_WR);
        backend_->wait(5s);
        backend_->set_receiving(near_, false);
        for (int i = 0; i < 3; ++i) {
            backend_->dispatch();
            backend_->wait(0s);
        }
        EXPECT_EQ(sender_.received, "");
        EXPECT_EQ(sender_.ends, 0);
        backend_->set_receiving(near_, true);
        for (int i = 0; i < 4; ++i) turn();
        EXPECT_EQ(std::exchange(sender_.received, ""), "bytes");
        EXPECT_EQ(sender_.ends, ends ? 1 : 0);
    }
}

TEST_F(AnIoUring, ARestBeginsNothingThatIsNotWanted) {
    backend_->set_receiving(near_, true);
    turn();
    backend_->set_receiving(near_, false);
    backend_->rest();
    turn();
    ASSERT_EQ(::write(far_, "later", 5), 5);
    for (int i = 0; i < 3; ++i) turn();
    EXPECT_EQ(sender_.received, "");
    backend_->set_receiving(near_, true);
    for (int i = 0; i < 3; ++i) turn();
    EXPECT_EQ(sender_.received, "later");
}

TEST_F(AnIoUring, RoomIsReportedOnceAlsoWhenTheRingRestedMeanwhile) {
    open(1'000);  // sends by system call
    ASSERT_TRUE(send(std::string(4 << 20, 'x')).pending);
    turn();
    backend_->rest();
    turn();
    EXPECT_TRUE(sender_.sent.empty());
    read_all(far_);
    turn(5s);
    EXPECT_EQ(sender_.sent, std::vector<std::int64_t>{0});
    for (int i = 0; i < 3; ++i) turn();
    EXPECT_EQ(sender_.sent, std::vector<std::int64_t>{0});
}

// Every byte in order, through partial sends, full sockets and the rooms between.
TEST_F(AnIoUring, AFullSocketGetsTheRestWhenThereIsRoom) {
    open_tcp();
    std::string all;
    std::string heard;
    bool pending = false;
    bool partial = false;
    bool waited = false;
    while (heard.size() < 200'000) {
        if (!pending) {
            const std::size_t size = queue_.empty() ? 4'000 : 0;
            for (std::size_t i = 0; i < size; ++i) all += static_cast<char>('a' + all.size() % 23);
            queue_.append(pool_, std::string_view(all).substr(all.size() - size));
            const std::uint64_t before = queue_.bytes();
            pending = backend_->send(near_, queue_).pending;
            EXPECT_TRUE(pending);
            turn();
            partial |= !sender_.sent.empty() && sender_.sent[0] > 0 &&
                       static_cast<std::uint64_t>(sender_.sent[0]) < before;
        } else {
            waited |= sender_.sent.empty();
            if (sender_.sent.empty()) heard += read_all(far_);
            turn(sender_.sent.empty() ? Duration(1ms) : 0s);
        }
        for (const std::int64_t result : std::exchange(sender_.sent, {})) {
            ASSERT_GE(result, 0);
            pending = false;
        }
    }
    EXPECT_TRUE(partial);
    EXPECT_TRUE(waited);
    EXPECT_EQ(calls(), 0U);
    EXPECT_EQ(heard, std::string_view(all).substr(0, heard.size()));
}

TEST_F(AnIoUring, ClosingWhileASocketIsFullDropsTheRest) {
    open_tcp();
    for (int i = 0; i < 1'000 && (i == 0 || !sender_.sent.empty()); ++i) {
        sender_.sent.clear();
        queue_.append(pool_, std::string(4'000 - queue_.bytes(), 'x'));
        backend_->send(near_, queue_);
        turn();
    }
    ASSERT_TRUE(sender_.sent.empty()) << "it waits for room";
    EXPECT_GT(queue_.bytes(), 0U) << "and has its bytes back";
    backend_->close(near_, std::move(queue_));
    turn();
    turn();
    EXPECT_TRUE(sender_.sent.empty());
    EXPECT_EQ(pool_.taken(), 0U);
}

TEST_F(AnIoUring, AResetIsReportedByTheSend) {
    open_tcp();
    const linger hard{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(far_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    send("nobody reads this");
    ::close(std::exchange(far_, -1));
    turn();
    ASSERT_EQ(sender_.sent.size(), 1U);
    EXPECT_TRUE(sender_.sent[0] == -ECONNRESET || sender_.sent[0] == -EPIPE) << sender_.sent[0];
    sender_.sent.clear();
    backend_->send(near_, queue_);
    turn();
    EXPECT_EQ(sender_.sent, std::vector<std::int64_t>{-EPIPE});
    EXPECT_EQ(queue_.bytes(), 17U) << "the caller's again";
}

TEST_F(AnIoUring, AClosedConnectionsAnswerGoesToItAndNotToTheNextOfItsNumber) {
    send("for the first");
    queue_.append(pool_, "never given to send()");
    const int number = near_.fd;
    backend_->close(near_, std::move(queue_));
    EXPECT_EQ(pool_.taken(), 0U);
    const Newcomer newcomer(*backend_, number);
    turn();
    EXPECT_EQ(read_all(far_), "for the first");
    EXPECT_EQ(newcomer.heard(), "");
    EXPECT_TRUE(sender_.sent.empty());
    EXPECT_TRUE(newcomer.sender.sent.empty());
}

TEST_F(AnIoUring, TheBytesOfASendInFlightOutliveItsConnection) {
    send("handed over");
    backend_->wait(0s);
    const int number = near_.fd;
    backend_->close(near_, std::move(queue_));
    const Newcomer newcomer(*backend_, number);
    backend_->dispatch();
    EXPECT_EQ(read_all(far_), "handed over");
    EXPECT_TRUE(sender_.sent.empty());
    EXPECT_TRUE(newcomer.sender.sent.empty());
}

TEST_F(AnIoUring, ADetachedDescriptorHasWhatItWasGiven) {
    send("parting");
    const int fd = near_.fd;
    backend_->detach(near_);
    EXPECT_EQ(read_all(far_), "parting");
    turn();
    EXPECT_TRUE(sender_.sent.empty());
    ::close(fd);
}

// The next user of the number may be another loop's, which has no say in this ring.
TEST_F(AnIoUring, AReceiveThatTheKernelHasNotHeardOfTakesNothingFromTheNextOfItsNumber) {
    backend_->set_receiving(near_, true);
    const int number = near_.fd;
    backend_->close(near_, {});
    const Pair next;
    ASSERT_EQ(next.ends[0], number);
    ASSERT_EQ(::write(next.ends[1], "not for you", 11), 11);
    turn();
    EXPECT_EQ(sender_.received, "");
    EXPECT_EQ(read_all(number), "not for you");
    ::close(next.ends[0]);
    ::close(next.ends[1]);
}

// Not through the ring that is full: handing over in the middle of a turn is no gain.
TEST_F(AnIoUring, WithTheSubmissionsFullAnAnswerIsSentAtOnce) {
    std::vector<Sender> senders(Uring::submissions / 3 + 1);
    std::vector<IoHandle> handles;
    for (std::size_t i = 0; i + 1 < senders.size(); i += 2) {
        const Pair pair;
        handles.push_back(*backend_->attach(pair.ends[0], senders[i]));
        handles.push_back(*backend_->attach(pair.ends[1], senders[i + 1]));
    }
    // Three submissions each: the receive, its cancellation, the watch for the peer's end.
    unsigned asked = 0;
    for (const IoHandle handle : handles) {
        if (asked + 3 > Uring::submissions) break;
        backend_->set_receiving(handle, true);
        backend_->set_receiving(handle, false);
        asked += 3;
    }
    ASSERT_EQ(Uring::submissions - asked, 1U);
    backend_->set_receiving(near_, true);
    EXPECT_EQ(send("at once").bytes, 7U);
    EXPECT_EQ(read_all(far_), "at once");
    turn();
    EXPECT_TRUE(send("together").pending);
    turn();
    EXPECT_EQ(read_all(far_), "together");
    for (IoHandle& handle : handles) backend_->close(handle, {});
}

// A request to the kernel in every turn would pile up until something wakes the loop.
TEST_F(AnIoUring, IsWokenByOneCompletionHoweverManyTurnsItHadBefore) {
    for (std::size_t i = 0; i < 2 * completions_of_full_turn; ++i) turn();
    backend_->wake();
    turn(5s);
    EXPECT_FALSE(backend_->has_more()) << "the wake-up alone filled the turn";
}

constexpr std::size_t clients_count = 50;

// A ring that is just closed goes on holding its sockets for some milliseconds.
TEST(IoUringAtRest, ItsPortIsFreeAsSoonAsTheLoopHasEnded) {
    if (!has_io_uring()) GTEST_SKIP() << "no io_uring here";
    struct Server final : IoObserver {
        void on_accepted(int fd, const Address&) override {
            talking.push_back(*loop->backend().attach(fd, *this));
            loop->backend().set_receiving(talking.back(), true);
            if (talking.size() == clients_count) loop->stop();
        }
        void on_received(ByteView) override {}
        EventLoop* loop = nullptr;
        std::vector<IoHandle> talking;
    };
    testing::Listening listening = testing::listen_on_loopback(system_kernel(), 128);
    // So that the ends of earlier connections are no obstacle; only a socket that listens is.
    const int on = 1;
    ::setsockopt(listening.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    for (int start = 0; start < 10; ++start) {
        Server server;
        auto loop = std::move(*EventLoop::create({.engine = "io_uring"}));
        server.loop = loop.get();
        IoHandle listener = *loop->backend().attach(listening.socket.release(), server);
        loop->backend().set_accepting(listener, true);
        std::vector<Descriptor> clients;
        sockaddr_storage storage;
        const socklen_t bytes = listening.at.to_sockaddr(storage);
        const auto* const there = reinterpret_cast<const sockaddr*>(&storage);
        // One thread runs the loop; another one closes all and ends it.
        std::thread thread([&] { loop->run(); });
        for (std::size_t i = 0; i < clients_count; ++i) {
            clients.emplace_back(system_kernel(), ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            ASSERT_EQ(::connect(clients.back().get(), there, bytes), 0);
        }
        thread.join();
        for (IoHandle& each : server.talking) loop->backend().close(each, {});
        loop->backend().close(listener, {});
        loop.reset();
        listening.socket = Descriptor(system_kernel(), ::socket(AF_INET, SOCK_STREAM, 0));
        ::setsockopt(listening.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        ASSERT_EQ(::bind(listening.socket.get(), there, bytes), 0) << "start " << start;
        ASSERT_EQ(::listen(listening.socket.get(), 128), 0);
    }
}

TEST(IoUringAtRest, AnotherRunContinuesWithAllRequests) {
    if (!has_io_uring()) GTEST_SKIP() << "no io_uring here";
    auto loop = std::move(*EventLoop::create({.engine = "io_uring"}));
    struct Reader final : IoObserver {
        void on_received(ByteView bytes) override {
            received += bytes;
            loop->stop();
        }
        void on_sent(std::int64_t) override { has_room = true; }
        EventLoop* loop = nullptr;
        std::string received;
        bool has_room = false;
    } reader;
    reader.loop = loop.get();
    Pair pair;
    IoHandle handle = *loop->backend().attach(pair.ends[0], reader);
    loop->backend().set_receiving(handle, true);
    SendQueue queue;
    queue.append(loop->blocks(), std::string(4 << 20, 'x'));
    ASSERT_TRUE(loop->backend().send(handle, queue).pending);
    for (int run = 1; run <= 3; ++run) {
        ASSERT_EQ(::write(pair.ends[1], "x", 1), 1);
        loop->run();
        EXPECT_EQ(reader.received.size(), static_cast<std::size_t>(run));
    }
    EXPECT_FALSE(reader.has_room);
    read_all(pair.ends[1]);
    for (int i = 0; i < 100 && !reader.has_room; ++i) loop->turn(1s);
    EXPECT_TRUE(reader.has_room);
    loop->backend().close(handle, {});
    queue.clear();
    ::close(pair.ends[1]);
}

}  // namespace
}  // namespace tiderace::core

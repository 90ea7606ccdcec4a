#include "lab/engine/connection_threads.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/net/listener.h"
#include "tiderace/testing/echo_session.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::lab::engine {
namespace {

// An echo server on a thread of its own, with blocking clients.
class Echo {
  public:
    Echo(std::size_t seats, SeatThreads threads, net::IntakeOptions options,
         const core::LoopOptions& loops = {}) {
        group_ = std::move(*ConnectionThreads::create(seats, threads, loops));
        std::vector<net::Intake::Target> targets;
        for (std::size_t i = 0; i < group_->size(); ++i) {
            sessions_.emplace_back();
            // A session counts its end before it frees itself: without memory for the first of a
            // reason it would leak, which is the fixture's fault and not the engine's.
            for (std::uint8_t reason = 0; reason < 16; ++reason) {
                sessions_.back().reasons[static_cast<net::CloseReason>(reason)] = 0;
            }
            servers_.emplace_back(group_->loop(i), sessions_.back(), net::TcpServerOptions{});
            targets.push_back({&group_->loop(i), &servers_.back()});
        }
        options.refusal = "busy";
        intake_ = group_->make_intake(std::move(targets), options);
        auto listener =
            std::move(*net::open_listener(core::system_kernel(), core::Address::loopback(0), {}));
        bytes_ = net::local_address(core::system_kernel(), listener).to_sockaddr(at_);
        intake_->listen(std::move(listener));
        thread_ = std::thread([this] { group_->run(); });
    }
    ~Echo() {
        if (thread_.joinable()) end();
        intake_.reset();
        servers_.clear();
    }
    void end() {
        group_->stop();
        thread_.join();
    }
    // Drains as the server does: from the first loop, on every loop, idle ones included.
    void drain() {
        group_->loop(0).post([this] {
            intake_->stop();
            left_ = servers_.size();
            for (std::size_t i = 0; i < group_->size(); ++i) {
                group_->loop(i).post([this, i] {
                    servers_at(i).drain(group_->loop(i).now() + 10s, [this] {
                        if (left_.fetch_sub(1) == 1) group_->stop();
                    });
                });
            }
            group_->attend();
        });
        thread_.join();
    }
    net::TcpServer& servers_at(std::size_t i) {
        return *std::next(servers_.begin(), static_cast<std::ptrdiff_t>(i));
    }
    // Runs `work` on a loop's thread, and waits for it.
    void run_on(std::size_t loop, const std::function<void()>& work) {
        std::promise<void> done;
        ASSERT_TRUE(group_->loop(loop).post([&] {
            work();
            done.set_value();
        }));
        done.get_future().wait();
    }
    bool post_to_seat(std::function<void()> work) { return group_->loop(1).post(std::move(work)); }
    int connect() const {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            ADD_FAILURE() << "no socket";
            return fd;
        }
        EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&at_), bytes_), 0);
        return fd;
    }
    std::uint64_t opened() const {
        std::uint64_t all = 0;
        for (const auto& one : sessions_) all += one.opened;
        return all;
    }
    net::Intake& intake() { return *intake_; }

  private:
    std::unique_ptr<net::LoopGroup> group_;
    std::list<testing::EchoSessions> sessions_;
    std::list<net::TcpServer> servers_;
    std::unique_ptr<net::Intake> intake_;
    sockaddr_storage at_{};
    socklen_t bytes_ = 0;
    std::atomic<std::size_t> left_ = 0;
    std::thread thread_;
};

// The bytes that come back, until `bytes` or the end.
std::string hear(int fd, std::size_t bytes) {
    std::string heard(bytes, '\0');
    const ssize_t got = ::recv(fd, heard.data(), bytes, MSG_WAITALL);
    heard.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return heard;
}

std::string ask(int fd, std::string_view words) {
    EXPECT_EQ(::send(fd, words.data(), words.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(words.size()));
    return hear(fd, words.size());
}

// A client that is served. The seat of one that ended is free a moment after its end is seen.
int seated(const Echo& echo) {
    for (;;) {
        const int fd = echo.connect();
        ::send(fd, "ok", 2, MSG_NOSIGNAL);
        if (hear(fd, 2) == "ok") return fd;
        ::close(fd);
    }
}

class EitherWay : public ::testing::TestWithParam<SeatThreads> {};

INSTANTIATE_TEST_SUITE_P(Threads, EitherWay,
                         ::testing::Values(SeatThreads::kept, SeatThreads::one_each),
                         [](const auto& threads) {
                             return threads.param == SeatThreads::kept ? "kept" : "one_each";
                         });

TEST_P(EitherWay, ServesAsManyAtOnceAsItHasSeats) {
    Echo echo(4, GetParam(), {});
    for (int round = 0; round < 10; ++round) {
        std::vector<int> clients;
        for (int i = 0; i < 4; ++i) clients.push_back(seated(echo));
        for (const int fd : clients) EXPECT_EQ(ask(fd, "again"), "again");
        for (const int fd : clients) ::shutdown(fd, SHUT_WR);
        for (const int fd : clients) {
            EXPECT_EQ(hear(fd, 1), "");
            ::close(fd);
        }
    }
    echo.end();
    EXPECT_EQ(echo.opened(), 40u);
}

TEST_P(EitherWay, DrainsWithSeatsAtRestAndTaken) {
    Echo echo(3, GetParam(), {});
    const int fd = echo.connect();
    EXPECT_EQ(ask(fd, "question"), "question");
    echo.drain();
    EXPECT_EQ(hear(fd, 1), "") << "the server's end closed it";
    ::close(fd);
    EXPECT_EQ(echo.opened(), 1u);
}

TEST_P(EitherWay, DrainsWhileItsClientsLeave) {
    for (int round = 0; round < 20; ++round) {
        Echo echo(32, GetParam(), {});
        std::vector<int> clients;
        for (int i = 0; i < 32; ++i) clients.push_back(seated(echo));
        std::thread leaving([&clients] {
            for (const int fd : clients) ::close(fd);
        });
        echo.drain();
        leaving.join();
    }
}

TEST_P(EitherWay, AConnectionThatAFullMailboxRefusesIsTurnedAwayAndTheSeatStays) {
    Echo echo(1, GetParam(), {}, {.mailbox_posts_max = 1});
    std::promise<void> held;
    std::promise<void> go_on;
    // A seat with a thread is held inside its first post. One without takes nothing by itself.
    if (GetParam() == SeatThreads::kept) {
        ASSERT_TRUE(echo.post_to_seat([&] {
            held.set_value();
            go_on.get_future().wait();
        }));
        held.get_future().wait();
    }
    ASSERT_TRUE(echo.post_to_seat([] {}));
    const int refused = echo.connect();
    const std::string words = hear(refused, 5);
    ::close(refused);
    go_on.set_value();
    ASSERT_EQ(words, "busy");
    ::close(seated(echo));
    echo.end();
    EXPECT_GE(echo.intake().refused(), 1u);
}

TEST_P(EitherWay, AConnectionForWhichThereIsNoMemoryCostsNoSeat) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    Echo echo(1, GetParam(), {});
    testing::fail_each([&](std::uint64_t nth) {
        ::close(seated(echo));
        std::optional<testing::ScarceMemory> scarce;
        echo.run_on(0, [&] { scarce.emplace(nth); });
        const int fd = echo.connect();
        ::send(fd, "ok", 2, MSG_NOSIGNAL);
        hear(fd, 1);  // an answer, a refusal, or the end
        ::close(fd);
        bool failed = false;
        echo.run_on(0, [&] {
            failed = scarce->failed();
            scarce.reset();
        });
        return failed;
    });
    ::close(seated(echo));
}

TEST_P(EitherWay, EndsAtOnceWithConnectionsOpen) {
    Echo echo(2, GetParam(), {});
    const int fd = echo.connect();
    EXPECT_EQ(ask(fd, "x"), "x");
    echo.end();
    ::close(fd);
}

TEST(Pool, ConnectionsWaitForASeatAndAboveTheBoundAreRefused) {
    Echo echo(1, SeatThreads::kept, {.waiting_max = 2});
    const int served = echo.connect();
    EXPECT_EQ(ask(served, "first"), "first");
    const int second = echo.connect();
    const int third = echo.connect();
    const int refused = echo.connect();
    EXPECT_EQ(hear(refused, 5), "busy") << "and closed";
    ::close(served);
    EXPECT_EQ(ask(second, "second"), "second");
    ::close(second);
    EXPECT_EQ(ask(third, "third"), "third");
    ::close(third);
    ::close(refused);
    echo.end();
    EXPECT_EQ(echo.opened(), 3u);
    EXPECT_EQ(echo.intake().refused(), 1u);
}

TEST(Pool, ThoseThatWaitAreRefusedWhenItEnds) {
    Echo echo(1, SeatThreads::kept, {.waiting_max = 2});
    const int served = echo.connect();
    EXPECT_EQ(ask(served, "first"), "first");
    const int waiting = echo.connect();
    echo.drain();
    EXPECT_EQ(hear(waiting, 5), "busy");
    ::close(waiting);
    ::close(served);
}

// The seat goes on to the next one that waits, and none of them stands there.
TEST(Pool, AWaitingConnectionForWhichThereIsNoMemoryCostsNoSeat) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    Echo echo(1, SeatThreads::kept, {.waiting_max = 2});
    testing::fail_each([&](std::uint64_t nth) {
        const int served = seated(echo);
        const int second = echo.connect();
        const int third = echo.connect();
        const int refused = echo.connect();
        EXPECT_EQ(hear(refused, 5), "busy") << "so that the others wait by now";
        ::close(refused);
        std::optional<testing::ScarceMemory> scarce;
        echo.run_on(1, [&] { scarce.emplace(nth); });
        ::close(served);
        int answered = 0;
        for (const int fd : {second, third}) {
            ::send(fd, "ok", 2, MSG_NOSIGNAL);
            answered += hear(fd, 2) == "ok";
            ::close(fd);
        }
        bool failed = false;
        echo.run_on(1, [&] {
            failed = scarce->failed();
            scarce.reset();
        });
        EXPECT_GE(answered, failed ? 1 : 2);
        return failed;
    });
}

TEST(Pool, HoldsNoMoreInAllThanItsLimit) {
    Echo echo(4, SeatThreads::kept, {.waiting_max = 100, .connections_max = 2});
    const int one = echo.connect();
    const int two = echo.connect();
    EXPECT_EQ(ask(one, "1"), "1");
    EXPECT_EQ(ask(two, "2"), "2");
    const int three = echo.connect();
    EXPECT_EQ(hear(three, 5), "busy");
    for (const int fd : {one, two, three}) ::close(fd);
}

TEST(ThreadPerConnection, RefusesOneMoreThanItMayHave) {
    Echo echo(1, SeatThreads::one_each, {.waiting_max = 100});
    const int served = echo.connect();
    EXPECT_EQ(ask(served, "first"), "first");
    const int refused = echo.connect();
    EXPECT_EQ(hear(refused, 5), "busy");
    ::close(served);
    ::close(refused);
}

}  // namespace
}  // namespace tiderace::lab::engine

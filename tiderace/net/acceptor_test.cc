#include "tiderace/net/acceptor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/log/doorbell.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/engine.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/world.h"

namespace tiderace::net {
namespace {

using testing::Call;

class EveryAcceptor : public ::testing::TestWithParam<std::string>, public Acceptor::Receiver {
  protected:
    EveryAcceptor() { acceptor_.emplace(world_->loop(), world_->listen(), *this); }
    ~EveryAcceptor() override {
        acceptor_.reset();
        for (const int fd : taken_) world_->kernel().close(fd);
    }

    void on_connection(int fd, const core::Address& peer) override {
        taken_.push_back(fd);
        from_.push_back(peer);
    }
    void connect(int count) {
        for (int i = 0; i < count; ++i) peers_.push_back(world_->connect());
    }
    bool run_until_taken(std::size_t count) {
        return world_->run_until([&] { return taken_.size() == count; });
    }
    std::uint64_t accept_calls() { return world_->kernel().calls(Call::accept); }
    // io_uring's kernel accepts without being called, so no call can be made to fail.
    static bool accepts_by_call() { return !testing::is_io_uring(GetParam()); }
    static std::ptrdiff_t lines_of(log::Ring& ring) {
        const std::string lines = log::take_all(ring);
        return std::ranges::count(lines, '\n');
    }
    static constexpr const char* no_call_to_fail =
        "see ShedsOneWhenDescriptorsReallyRunOut, where no call has to fail";

    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
    std::optional<Acceptor> acceptor_;
    std::vector<int> taken_;
    std::vector<core::Address> from_;
    std::vector<std::unique_ptr<testing::Peer>> peers_;
};

INSTANTIATE_TEST_SUITE_P(Engines, EveryAcceptor, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryAcceptor, AcceptsConnectionsOnceItIsStarted) {
    connect(3);
    world_->settle();
    EXPECT_EQ(acceptor_->accepted(), 0U);
    acceptor_->start();
    EXPECT_TRUE(run_until_taken(3));
    EXPECT_EQ(acceptor_->accepted(), 3U);
    EXPECT_TRUE(from_[0].is_loopback());
    EXPECT_NE(from_[0], from_[1]);
}

TEST_P(EveryAcceptor, TakesABoundedNumberATurn) {
    // Usually a share of the ready sockets, here the listening socket alone.
    const std::size_t budget =
        testing::is_io_uring(GetParam()) ? core::BackendOptions{}.accepts_per_turn_max : 1;
    connect(100);
    acceptor_->start();
    for (int turns = 0; turns < 100 && taken_.size() < 100; ++turns) {
        const std::size_t before = taken_.size();
        world_->loop().turn(1s);
        EXPECT_EQ(taken_.size() - before, std::min(budget, 100 - before));
    }
    EXPECT_EQ(taken_.size(), 100U);
}

TEST_P(EveryAcceptor, APeerThatGaveUpIsPassedOver) {
    if (!accepts_by_call()) GTEST_SKIP() << no_call_to_fail;
    acceptor_->start();
    world_->kernel().fail(1, ECONNABORTED, Call::accept);
    connect(1);
    EXPECT_TRUE(run_until_taken(1));
    world_->kernel().fail(1, EINTR, Call::accept);
    connect(1);
    EXPECT_TRUE(run_until_taken(2));
    EXPECT_EQ(acceptor_->shed(), 0U);
}

TEST_P(EveryAcceptor, StoppingTakesAllThatWaitAlsoBehindOneThatGaveUp) {
    connect(3);
    world_->settle();
    world_->kernel().fail(1, ECONNABORTED, Call::accept);
    acceptor_->stop();
    EXPECT_EQ(taken_.size(), 3U);
    EXPECT_EQ(acceptor_->accepted(), 3U);
}

TEST_P(EveryAcceptor, ShedsOneWithItsSpareWhenDescriptorsRunOut) {
    if (!accepts_by_call()) GTEST_SKIP() << no_call_to_fail;
    acceptor_->start();
    world_->kernel().fail(1, EMFILE, Call::accept);
    connect(1);
    EXPECT_TRUE(world_->run_until([&] { return peers_[0]->over(); }));
    EXPECT_EQ(acceptor_->shed(), 1U);
    EXPECT_EQ(acceptor_->accepted(), 0U);
    connect(1);
    world_->settle();
    EXPECT_TRUE(taken_.empty());  // it rests
    world_->advance(150ms);
    EXPECT_TRUE(run_until_taken(1));
}

// The process may open no descriptor more, while it lives.
class NoDescriptorLeft {
  public:
    NoDescriptorLeft() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int next = ::dup(STDERR_FILENO);
        rlimit now = before_;
        now.rlim_cur = static_cast<rlim_t>(next);
        ::close(next);
        ::setrlimit(RLIMIT_NOFILE, &now);
    }
    ~NoDescriptorLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    NoDescriptorLeft(const NoDescriptorLeft&) = delete;
    NoDescriptorLeft& operator=(const NoDescriptorLeft&) = delete;

  private:
    rlimit before_{};
};

TEST_P(EveryAcceptor, ShedsOneWhenDescriptorsReallyRunOut) {
    if (GetParam() == "fake") GTEST_SKIP() << "its descriptors are not the process's";
    connect(1);
    {
        const NoDescriptorLeft none;
        acceptor_->start();
        EXPECT_TRUE(world_->run_until([&] { return peers_[0]->over(); }));
        EXPECT_EQ(acceptor_->shed(), 1U);
        EXPECT_EQ(acceptor_->accepted(), 0U);
    }
    connect(1);
    world_->settle();
    EXPECT_TRUE(taken_.empty());  // it rests
    world_->advance(150ms);
    EXPECT_TRUE(run_until_taken(1));
}

// io_uring accepts in the very call that collects what it has accepted, and fails there.
TEST_P(EveryAcceptor, ThatStopsWithoutDescriptorsDoesNotRest) {
    if (GetParam() == "fake") GTEST_SKIP() << "its descriptors are not the process's";
    acceptor_->start();
    world_->settle();
    connect(1);
    {
        const NoDescriptorLeft none;
        acceptor_->stop();
    }
    EXPECT_EQ(acceptor_->shed(), 0U);
    EXPECT_TRUE(taken_.empty());
    world_->advance(2s);  // nothing accepts on a socket that is closed
    EXPECT_TRUE(world_->run_until([&] { return peers_[0]->over(); }));
}

TEST_P(EveryAcceptor, RestsTwiceAsLongEachTimeAndNeverSpins) {
    if (!accepts_by_call()) GTEST_SKIP() << no_call_to_fail;
    acceptor_->start();
    world_->kernel().fail_all(Call::accept, ENFILE);
    connect(1);
    world_->settle();
    const std::uint64_t first = accept_calls();
    EXPECT_EQ(first, 2U);  // the one that failed and the one to shed
    world_->advance(10s);
    // After 0.1, 0.3, 0.7, 1.5 s and each second from there.
    EXPECT_EQ(accept_calls() - first, 2U * (4 + 8));
    world_->kernel().fail_all(Call::accept, 0);
    world_->advance(1100ms);
    EXPECT_TRUE(run_until_taken(1));
    // Success makes the next rest short again.
    world_->kernel().fail(1, ENOMEM, Call::accept);
    connect(1);
    world_->settle();
    EXPECT_EQ(taken_.size(), 1U);
    world_->advance(150ms);
    EXPECT_TRUE(run_until_taken(2));
}

// Where accepting fails again and again, each time after a success.
TEST_P(EveryAcceptor, LogsItsFailuresOnceASecond) {
    if (!accepts_by_call()) GTEST_SKIP() << no_call_to_fail;
    struct Time final : log::TimeSource {
        std::int64_t unix_ms() override { return ms; }
        std::int64_t ms = 1'000'000;
    };
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    Time time;
    log::Logger logger(ring, time);
    world_->loop().set_log(&logger);
    acceptor_->start();
    const auto fail_and_recover = [&](int error) {
        world_->kernel().fail(1, error, Call::accept);
        connect(1);
        world_->advance(150ms);
        connect(1);
        world_->settle();
    };
    for (int i = 0; i < 3; ++i) fail_and_recover(EMFILE);
    EXPECT_EQ(lines_of(ring), 1);
    time.ms += 1'000;
    fail_and_recover(EMFILE);
    EXPECT_EQ(lines_of(ring), 1);
    // Lack of memory has its own line, which other places share.
    for (int i = 0; i < 3; ++i) fail_and_recover(ENOMEM);
    EXPECT_EQ(lines_of(ring), 1);
    EXPECT_EQ(logger.may_log(log::Often::out_of_memory), std::nullopt);
    world_->loop().set_log(nullptr);
}

TEST_P(EveryAcceptor, GetsItsSpareBackOnceThereAreDescriptors) {
    if (!accepts_by_call()) GTEST_SKIP() << no_call_to_fail;
    acceptor_->start();
    world_->kernel().fail_all(Call::open_socket, EMFILE);
    world_->kernel().fail(1, EMFILE, Call::accept);
    connect(1);
    ASSERT_TRUE(world_->run_until([&] { return acceptor_->shed() == 1; }));
    const std::uint64_t before = world_->kernel().calls(Call::open_socket);
    world_->kernel().fail_all(Call::open_socket, 0);
    world_->advance(150ms);
    EXPECT_EQ(world_->kernel().calls(Call::open_socket), before + 1);
}

TEST_P(EveryAcceptor, StopAcceptsWaitingConnectionsAndClosesTheSocket) {
    connect(5);
    world_->settle();
    acceptor_->stop();
    EXPECT_EQ(taken_.size(), 5U);
    acceptor_->stop();
    const auto late = world_->connect();
    world_->settle();
    EXPECT_EQ(taken_.size(), 5U);
}

// Each connection that is taken brings the next one, up to `arrivals_max_`.
class CrowdedAcceptor : public EveryAcceptor {
  protected:
    void on_connection(int fd, const core::Address& peer) override {
        EveryAcceptor::on_connection(fd, peer);
        if (taken_.size() >= arrivals_max_) return;
        connect(1);
    }

    std::size_t arrivals_max_ = 100;
};

INSTANTIATE_TEST_SUITE_P(Engines, CrowdedAcceptor, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(CrowdedAcceptor, StopEndsThoughClientsKeepConnecting) {
    if (GetParam() != "fake") GTEST_SKIP() << "Linux drops their packets, and they would wait here";
    connect(3);
    world_->settle();
    acceptor_->stop(10);
    EXPECT_EQ(taken_.size(), 10U);
}

// An engine may have accepted more than it has reported.
TEST_P(EveryAcceptor, StopHandsOverWhatIsBeyondATurnsShare) {
    connect(100);
    acceptor_->start();
    world_->loop().turn(1s);
    EXPECT_LT(taken_.size(), 100U);
    acceptor_->stop();
    EXPECT_EQ(taken_.size(), 100U);
}

// In a process whose standard input is closed a connection gets that number.
TEST_P(EveryAcceptor, DescriptorZeroIsAConnectionAsAnyOther) {
    if (GetParam() == "fake") GTEST_SKIP() << "its descriptors are not the process's";
    connect(2);
    world_->settle();
    const int input = ::dup(STDIN_FILENO);
    ::close(STDIN_FILENO);
    acceptor_->stop();
    EXPECT_EQ(taken_.size(), 2U);
    EXPECT_EQ(std::ranges::count(taken_, STDIN_FILENO), 1);
    std::erase(taken_, STDIN_FILENO);
    if (input >= 0) {
        ::dup2(input, STDIN_FILENO);
        ::close(input);
    }
}

TEST_P(EveryAcceptor, StopWhileItRestsEndsTheRest) {
    if (!accepts_by_call()) GTEST_SKIP() << no_call_to_fail;
    acceptor_->start();
    world_->kernel().fail(1, ENOBUFS, Call::accept);
    connect(2);
    world_->settle();
    acceptor_->stop();
    EXPECT_EQ(taken_.size(), 2U);
    world_->advance(2s);
}

TEST_P(EveryAcceptor, APauseLeavesThemInTheQueue) {
    acceptor_->start();
    acceptor_->pause();
    connect(2);
    world_->settle();
    EXPECT_TRUE(taken_.empty());
    acceptor_->resume();
    EXPECT_TRUE(run_until_taken(2));
}

TEST_P(EveryAcceptor, APauseOutlastsARestAndARestAPause) {
    if (!accepts_by_call()) GTEST_SKIP() << no_call_to_fail;
    acceptor_->start();
    world_->kernel().fail(1, ENOBUFS, Call::accept);
    connect(1);
    world_->settle();
    acceptor_->pause();
    world_->advance(1s);
    EXPECT_TRUE(taken_.empty());
    acceptor_->resume();
    EXPECT_TRUE(run_until_taken(1));

    world_->kernel().fail(1, ENOBUFS, Call::accept);
    connect(1);
    world_->settle();
    acceptor_->pause();
    acceptor_->resume();
    world_->settle();
    EXPECT_EQ(taken_.size(), 1U);
    world_->advance(150ms);
    EXPECT_TRUE(run_until_taken(2));
}

TEST_P(EveryAcceptor, MayGoWhileItRests) {
    if (!accepts_by_call()) GTEST_SKIP() << no_call_to_fail;
    acceptor_->start();
    world_->kernel().fail(1, ENOBUFS, Call::accept);
    connect(1);
    world_->settle();
    acceptor_.reset();
    world_->advance(2s);
    EXPECT_TRUE(taken_.empty());
}

// Sends a given number of bytes at a time, then what is left of a list of errors.
struct StingyKernel final : core::SystemKernel {
    ssize_t send(int fd, const iovec* pieces, int, bool) override {
        if (!errors.empty()) {
            const int error = errors.back();
            errors.pop_back();
            return -error;
        }
        const iovec piece{pieces[0].iov_base, std::min(bytes_at_once, pieces[0].iov_len)};
        return SystemKernel::send(fd, &piece, 1, false);
    }
    std::size_t bytes_at_once = 1;
    std::vector<int> errors;
};

TEST(RefuseConnection, SaysAllItsWordsHoweverFewTheKernelTakesAtOnce) {
    struct {
        std::vector<int> errors;
        std::string heard;
    } const cases[] = {{{}, "busy"}, {{EINTR, EINTR}, "busy"}, {{EAGAIN}, ""}, {{EPIPE}, ""}};
    for (const auto& [errors, heard] : cases) {
        StingyKernel kernel;
        kernel.errors = errors;
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        refuse_connection(kernel, ends[0], "busy");
        char buffer[16];
        std::string got;
        ssize_t count = 0;
        while ((count = ::recv(ends[1], buffer, sizeof buffer, 0)) > 0) {
            got.append(buffer, static_cast<std::size_t>(count));
        }
        EXPECT_EQ(count, 0) << "it is closed";
        EXPECT_EQ(got, heard);
        ::close(ends[1]);
    }
}

// A machine that is really full: the queue is shed one at a time, then served when there is room.
TEST(FakeAcceptor, SurvivesATableThatIsFull) {
    struct Closing final : Acceptor::Receiver {
        void on_connection(int fd, const core::Address&) override { fds.push_back(fd); }
        std::vector<int> fds;
    } receiver;
    testing::FakeWorld world;
    Acceptor acceptor(world.loop(), world.listen(), receiver);
    world.network().set_descriptors_max(world.network().open_descriptors());
    acceptor.start();
    std::vector<std::unique_ptr<testing::FakePeer>> peers;
    for (int i = 0; i < 20; ++i) peers.push_back(world.connect_fake());
    world.advance(5s);
    EXPECT_GE(acceptor.shed(), 5U);
    EXPECT_LE(acceptor.shed(), 10U);
    EXPECT_TRUE(receiver.fds.empty());
    world.network().set_descriptors_max(1'000);
    world.advance(2s);
    EXPECT_EQ(receiver.fds.size() + acceptor.shed(), 20U);
    for (const int fd : receiver.fds) world.network().close(fd);
}

}  // namespace
}  // namespace tiderace::net

#include "tiderace/net/serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <malloc.h>
#endif

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "tiderace/core/cpu_count.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/net/listener.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::net {
namespace {

// Answers each byte with `mark`; a patient one does not end its connection when it is drained.
class Marks final : public SessionFactory, private Session {
  public:
    Marks(char mark, bool patient) : mark_(mark), patient_(patient) {}

  private:
    Session& make_session(Connection&) override { return *this; }
    std::size_t on_data(Connection& connection, ByteView data) override {
        connection.write(std::string(data.size(), mark_));
        return data.size();
    }
    void on_drain(Connection& connection) override {
        if (!patient_) Session::on_drain(connection);
    }
    void on_close(Connection&, CloseReason) override {}

    char mark_;
    bool patient_;
};

// The places are marked a, b, c, …
struct MarkedPlaces final : LoopService {
    MarkedPlaces(std::size_t places, bool patient) {
        for (std::size_t i = 0; i < places; ++i) {
            marks.push_back(std::make_unique<Marks>(static_cast<char>('a' + i), patient));
        }
    }
    SessionFactory& sessions(std::size_t place) override { return *marks[place]; }

    std::vector<std::unique_ptr<Marks>> marks;
};

class Client {
  public:
    explicit Client(const core::Address& to) {
        sockaddr_storage storage;
        const socklen_t bytes = to.to_sockaddr(storage);
        fd_ = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&storage), bytes) == 0;
    }
    ~Client() { ::close(fd_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // The answer to one byte; '\0': the connection ended.
    char ask() {
        char byte = '?';
        if (::send(fd_, &byte, 1, MSG_NOSIGNAL) != 1) return '\0';
        return ::recv(fd_, &byte, 1, 0) == 1 ? byte : '\0';
    }
    bool connected() const { return connected_; }

  private:
    int fd_ = -1;
    bool connected_ = false;
};

// How many sockets of this process listen there. Duplicates are one.
std::size_t count_listening(const core::Address& at) {
    sockaddr_storage wanted;
    const socklen_t wanted_bytes = at.to_sockaddr(wanted);
    std::set<ino_t> found;
    for (int fd = 0; fd < 1'024; ++fd) {
        int listens = 0;
        sockaddr_storage own{};
        struct stat facts{};
        socklen_t bytes = sizeof listens, own_bytes = sizeof own;
        if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens != 0 &&
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_bytes) == 0 &&
            std::memcmp(&own, &wanted, wanted_bytes) == 0 && ::fstat(fd, &facts) == 0) {
            found.insert(facts.st_ino);
        }
    }
    return found.size();
}

// root has no such limit.
void forbid_more_threads() {
    rlimit none{};
    none.rlim_cur = none.rlim_max = 1;
    ::setrlimit(RLIMIT_NPROC, &none);
    if (::getuid() == 0 && ::setuid(54'321) != 0) std::_Exit(2);
}

class ServingTest : public ::testing::Test {
  protected:
    // Under nohup this signal is ignored, and then Serving also ignores it.
    static void heed_hang_ups() { std::signal(SIGHUP, SIG_DFL); }
    // Serves on `options_.listen`; `play` runs on its own thread with where that is.
    int serve(std::function<void(const std::vector<core::Address>&)> play, bool patient = false) {
        std::thread player;
        options_.on_listening = [&](const std::vector<core::Address>& addresses) {
            player = std::thread([&play, addresses] { play(addresses); });
        };
        serving_.emplace(options_);
        const int status = serving_->run([&](core::EventLoop& loop) {
            loops_.push_back(&loop);
            return std::make_unique<MarkedPlaces>(options_.listen.size(), patient);
        });
        if (player.joinable()) player.join();
        serving_.reset();
        loops_.clear();
        return status;
    }
    // The message of run() when it cannot start.
    std::string failure() {
        ::testing::internal::CaptureStderr();
        const int status = serve([](const auto&) { ADD_FAILURE() << "it serves"; });
        const std::string said = ::testing::internal::GetCapturedStderr();
        EXPECT_EQ(status, 1);
        EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
        return said;
    }

    ServingOptions options_{.program = "marks", .listen = {"127.0.0.1:0"}, .threads = 2};
    std::optional<Serving> serving_;
    std::vector<core::EventLoop*> loops_;  // its own, while it serves
};

TEST_F(ServingTest, EachPlaceHasItsProtocolOnEveryLoop) {
    options_.listen = {"127.0.0.1:0", "[::1]:0", "127.0.0.1:0"};
    std::string answers;
    EXPECT_EQ(serve([&](const std::vector<core::Address>& addresses) {
                  for (int i = 0; i < 8; ++i) {
                      for (const core::Address& address : addresses) {
                          answers += Client(address).ask();
                      }
                  }
                  serving_->stop();
              }),
              0);
    EXPECT_EQ(answers, "abcabcabcabcabcabcabcabc");
}

TEST_F(ServingTest, OneLoopServesAllPlaces) {
    options_.listen = {"127.0.0.1:0", "127.0.0.1:0"};
    options_.threads = 1;
    std::string answers;
    EXPECT_EQ(serve([&](const std::vector<core::Address>& addresses) {
                  for (const core::Address& address : addresses) answers += Client(address).ask();
                  serving_->stop();
              }),
              0);
    EXPECT_EQ(answers, "ab");
}

// The kernel then spreads connections over the loops. A Unix socket cannot share its name.
TEST_F(ServingTest, EachOfSeveralLoopsHasAListeningSocketOfItsOwn) {
    const testing::TemporaryFolder folder;
    options_.listen = {"127.0.0.1:0", "unix:" + folder.path_of("socket")};
    for (const std::size_t loops : {1U, 2U, 3U}) {
        options_.threads = loops;
        EXPECT_EQ(serve([&](const std::vector<core::Address>& at) {
                      EXPECT_EQ(count_listening(at[0]), shared_ports_are_spread() ? loops : 1U);
                      EXPECT_EQ(count_listening(at[1]), 1U);
                      serving_->stop();
                  }),
                  0);
        EXPECT_NE(::access(folder.path_of("socket").c_str(), F_OK), 0);
    }
}

TEST_F(ServingTest, WithoutANumberOfThreadsEachUsableCpuHasALoop) {
    options_.threads = 0;
    std::atomic<std::size_t> made = 0;
    options_.on_listening = [&](const auto&) { serving_->stop(); };
    serving_.emplace(options_);
    EXPECT_EQ(serving_->run([&](core::EventLoop&) {
        ++made;
        return std::make_unique<MarkedPlaces>(1, false);
    }),
              0);
    EXPECT_EQ(made, core::count_cpus().usable);
    serving_.reset();
}

TEST_F(ServingTest, EachSignalThatEndsItDrainsAndEndsWithStatusZero) {
    heed_hang_ups();
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        SCOPED_TRACE(signal);
        char answer = '\0';
        EXPECT_EQ(serve([&](const std::vector<core::Address>& addresses) {
                      Client client(addresses[0]);
                      answer = client.ask();
                      ::kill(::getpid(), signal);
                      while (client.ask() != '\0') {  // until the signal has arrived
                      }
                  }),
                  0);
        EXPECT_EQ(answer, 'a');
    }
}

TEST_F(ServingTest, TheDeadlineCutsOffWhatDoesNotEndAndSaysHowMuch) {
    options_.drain_timeout = 1ms;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(serve(
                  [&](const std::vector<core::Address>& addresses) {
                      Client first(addresses[0]);
                      Client second(addresses[0]);
                      EXPECT_EQ(first.ask(), 'a');
                      EXPECT_EQ(second.ask(), 'a');
                      serving_->stop();
                      pollfd none{-1, 0, 0};
                      // Each may be on a loop of its own, whose deadline passes later: one that
                      // left before would not be cut off.
                      for (Client* client : {&first, &second}) {
                          while (client->ask() != '\0') ::poll(&none, 1, 1);
                      }
                  },
                  true),
              0);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "marks: 2 connections were cut off before they were done\n");
}

TEST_F(ServingTest, DrainingMayHaveNoDeadline) {
    const testing::TemporaryFolder folder;
    options_.listen = {"127.0.0.1:0", "unix:" + folder.path_of("socket")};
    options_.drain_timeout = Duration::max();
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(serve(
                  [&](const std::vector<core::Address>& addresses) {
                      Client client(addresses[0]);
                      EXPECT_EQ(client.ask(), 'a');
                      serving_->stop();
                      while (Client(addresses[0]).connected()) continue;
                      EXPECT_NE(::access(folder.path_of("socket").c_str(), F_OK), 0);
                      EXPECT_EQ(client.ask(), 'a') << "the connection is still served";
                      serving_->stop();
                      while (client.ask() != '\0') {
                      }
                  },
                  true),
              0);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::ContainsRegex("[1-9] connections? (was|were) cut off"));
}

TEST_F(ServingTest, TheSecondSignalEndsAtOnceAndASecondHangUpDoesNot) {
    heed_hang_ups();
    options_.drain_timeout = 1h;
    std::optional<Client> client;  // until all is over: it does not end by itself
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(serve(
                  [&](const std::vector<core::Address>& addresses) {
                      client.emplace(addresses[0]);
                      EXPECT_EQ(client->ask(), 'a');
                      ::kill(::getpid(), SIGHUP);
                      while (Client(addresses[0]).connected()) {
                      }
                      ::kill(::getpid(), SIGHUP);
                      EXPECT_EQ(client->ask(), 'a') << "the connection is still served";
                      ::kill(::getpid(), SIGTERM);
                  },
                  true),
              0);
    // And perhaps a probe above, which a loop had accepted and not yet seen end.
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::ContainsRegex("[1-9] connections were cut off"));
}

TEST_F(ServingTest, DuringTheNoticeConnectionsAreStillServed) {
    std::latch told(1);
    options_.on_drain = [&] { told.count_down(); };
    options_.drain_notice = 200ms;
    char answer = '\0';
    EXPECT_EQ(serve([&](const std::vector<core::Address>& addresses) {
                  serving_->stop();
                  told.wait();
                  answer = Client(addresses[0]).ask();
                  while (Client(addresses[0]).connected()) {  // until the notice is over
                  }
              }),
              0);
    EXPECT_EQ(answer, 'a');
}

TEST_F(ServingTest, ASecondStopDuringTheNoticeEndsAtOnce) {
    options_.drain_notice = 1h;
    EXPECT_EQ(serve([&](const auto&) {
                  serving_->stop();
                  serving_->stop();
              }),
              0);
}

// Is done when its own thread reports it.
struct SlowService final : LoopService {
    explicit SlowService(std::atomic<int>& ended) : ended(&ended) {}
    ~SlowService() override { ender.join(); }
    SessionFactory& sessions(std::size_t) override { return marks; }
    void drain(Instant, unique_function<void()> done) override {
        ender = std::thread([this, done = std::move(done)]() mutable {
            pollfd none{-1, 0, 0};
            ::poll(&none, 1, 20);
            ++*ended;
            done();
        });
    }

    std::atomic<int>* ended;
    Marks marks{'a', false};
    std::thread ender;
};

TEST_F(ServingTest, ItEndsWhenTheServicesOfAllLoopsAreDone) {
    std::atomic<int> ended = 0;
    options_.on_listening = [&](const auto&) { serving_->stop(); };
    serving_.emplace(options_);
    EXPECT_EQ(serving_->run([&](core::EventLoop&) { return std::make_unique<SlowService>(ended); }),
              0);
    EXPECT_EQ(ended, 2);
    serving_.reset();
}

TEST_F(ServingTest, OwnSignalsComeToTheirCallbacksAndEndNothing) {
    std::string heard;
    std::latch both(2);
    options_.on_sighup = [&] {
        heard += 'h';
        both.count_down();
    };
    options_.on_sigusr1 = [&] {
        heard += 'u';
        both.count_down();
    };
    EXPECT_EQ(serve([&](const std::vector<core::Address>& addresses) {
                  ::kill(::getpid(), SIGHUP);
                  ::kill(::getpid(), SIGUSR1);
                  both.wait();
                  EXPECT_EQ(Client(addresses[0]).ask(), 'a');
                  serving_->stop();
              }),
              0);
    EXPECT_THAT(heard, ::testing::UnorderedElementsAre('h', 'u'));
}

// As nohup leaves it: the end of a terminal does not end the server.
TEST_F(ServingTest, AHangUpThatWasIgnoredBeforeEndsNothing) {
    std::signal(SIGHUP, SIG_IGN);
    std::latch later(1);
    options_.on_sigusr1 = [&] { later.count_down(); };  // a loop takes the lower number first
    EXPECT_EQ(serve([&](const std::vector<core::Address>& addresses) {
                  ::kill(::getpid(), SIGHUP);
                  ::kill(::getpid(), SIGUSR1);
                  later.wait();
                  EXPECT_EQ(Client(addresses[0]).ask(), 'a');
                  serving_->stop();
              }),
              0);
    heed_hang_ups();
}

TEST_F(ServingTest, ACallbackWithoutMemoryEndsNothing) {
    std::latch called(1);
    options_.on_sigusr1 = [&] {
        called.count_down();
        throw std::bad_alloc();
    };
    EXPECT_EQ(serve([&](const std::vector<core::Address>& addresses) {
                  ::kill(::getpid(), SIGUSR1);
                  called.wait();
                  EXPECT_EQ(Client(addresses[0]).ask(), 'a');
                  serving_->stop();
              }),
              0);
}

TEST_F(ServingTest, WithoutMemoryToDrainItEndsAtOnce) {
    options_.drain_timeout = 1h;
    options_.on_drain = [] { throw std::bad_alloc(); };
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(serve(
                  [&](const std::vector<core::Address>& addresses) {
                      Client client(addresses[0]);
                      EXPECT_EQ(client.ask(), 'a');
                      serving_->stop();
                      while (client.ask() != '\0') {
                      }
                  },
                  true),
              0);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("1 connections"));
}

// It is counted as drained, and keeps the others from nothing: their connections end in order.
TEST_F(ServingTest, ALoopWhoseMailboxIsFullIsNotWaitedFor) {
    struct Lines final : log::TimeSource {  // counts the first loop's lines
        std::int64_t unix_ms() override { return ++count == 2 ? (too_late.count_down(), 0) : 0; }
        int count = 0;
        std::latch too_late{1};
    } lines;
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    log::Logger logger(ring, lines);
    std::latch blocked(1);
    const testing::TemporaryFolder folder;
    options_.listen = {"unix:" + folder.path_of("socket")};
    options_.drain_timeout = 1h;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(serve([&](const std::vector<core::Address>& addresses) {
                  loops_[0]->post([&] { loops_[0]->set_log(&logger); });
                  loops_[1]->post([&] {
                      blocked.count_down();
                      lines.too_late.wait();
                  });
                  blocked.wait();
                  while (loops_[1]->post([] {})) continue;
                  Client client(addresses[0]);
                  EXPECT_EQ(client.ask(), 'a');
                  serving_->stop();
                  while (client.ask() != '\0') {
                  }
              }),
              0);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "nothing was cut off";
    EXPECT_THAT(log::take_all(ring), ::testing::HasSubstr("a loop is too late to drain"));
}

TEST_F(ServingTest, AnUnhandledSignalIsIgnored) {
    EXPECT_EQ(serve([&](const std::vector<core::Address>& addresses) {
                  ::kill(::getpid(), SIGUSR1);
                  EXPECT_EQ(Client(addresses[0]).ask(), 'a');
                  serving_->stop();
              }),
              0);
}

TEST_F(ServingTest, ASignalBeforeTheStartWaitsForIt) {
    EXPECT_EXIT(
        {
            hold_server_signals();
            ::kill(::getpid(), SIGUSR1);
            ::kill(::getpid(), SIGTERM);
            Serving serving({.program = "marks", .listen = {"127.0.0.1:0"}, .threads = 1});
            std::_Exit(serving.run(
                [](core::EventLoop&) { return std::make_unique<MarkedPlaces>(1, false); }));
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(ServingTest, AProgramThatDoesNotServeTakesItsSignalsBack) {
    EXPECT_EXIT(
        {
            hold_server_signals();
            ::kill(::getpid(), SIGTERM);
            release_server_signals();
            std::_Exit(0);
        },
        ::testing::KilledBySignal(SIGTERM), "");
}

TEST_F(ServingTest, DrainingIsReportedBeforeConnectionsDrain) {
    int told = 0;
    options_.on_drain = [&] { ++told; };
    EXPECT_EQ(serve([&](const auto&) { serving_->stop(); }), 0);
    EXPECT_EQ(told, 1);
}

TEST_F(ServingTest, WhatKeepsItFromServingIsOneSentence) {
    options_.listen = {"x:y"};
    EXPECT_THAT(failure(), ::testing::HasSubstr("x:y"));
    options_.listen = {"127.0.0.1:0"};
    options_.engine = "abacus";
    EXPECT_THAT(failure(), ::testing::HasSubstr("abacus"));
    options_.engine = "auto";
    core::Kernel& kernel = core::system_kernel();
    auto taken = open_listener(kernel, core::Address::loopback(0), {});
    ASSERT_TRUE(taken.has_value());
    options_.listen = {local_address(kernel, *taken).to_string()};
    EXPECT_THAT(failure(), ::testing::HasSubstr(options_.listen[0]));
}

TEST_F(ServingTest, AServiceThatCannotBeMadeIsOneSentence) {
    ::testing::internal::CaptureStderr();
    Serving serving(options_);
    EXPECT_EQ(serving.run([](core::EventLoop&) -> Result<std::unique_ptr<LoopService>> {
        return fail(Error(ENOENT, "open", "the page"));
    }),
              1);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "marks: open the page: no such file or directory\n");
}

// On the second loop, so that the first one's has to end again.
TEST_F(ServingTest, AServiceWhoseMakingThrowsIsOneSentence) {
    const auto run = [&](auto thrown) {
        ::testing::internal::CaptureStderr();
        Serving serving(options_);
        int made = 0;
        EXPECT_EQ(serving.run([&](core::EventLoop&) -> Result<std::unique_ptr<LoopService>> {
            if (++made == 2) throw thrown;
            return std::make_unique<MarkedPlaces>(1, false);
        }),
                  1);
        return ::testing::internal::GetCapturedStderr();
    };
    EXPECT_EQ(run(std::runtime_error("no database of that name")),
              "marks: start marks: no database of that name\n");
    EXPECT_EQ(run(7), "marks: start marks: something that is no std::exception was thrown\n");
}

TEST_F(ServingTest, AStartWithoutThreadsIsOneSentence) {
    EXPECT_EXIT(
        {
            forbid_more_threads();
            Serving serving(options_);
            std::_Exit(serving.run(
                [](core::EventLoop&) { return std::make_unique<MarkedPlaces>(1, false); }));
        },
        ::testing::ExitedWithCode(1),
        "^marks: start loop 2 of 2: [^\n]*use fewer threads[^\n]*\n$");
}

// The signals are watched by the first loop then, which ends with run().
TEST_F(ServingTest, AFailureBehindTheStartOfTheThreadsLeavesNothingOfTheLoops) {
    options_.on_listening = [](const auto&) { throw std::runtime_error("nowhere to write"); };
    EXPECT_EXIT(
        {
#if defined(M_PERTURB)
            ::mallopt(M_PERTURB, 0xa5);  // a use of freed memory shows
#endif
            int status = 0;
            {
                Serving serving(options_);
                status = serving.run(
                    [](core::EventLoop&) { return std::make_unique<MarkedPlaces>(1, false); });
            }
            std::_Exit(status);
        },
        ::testing::ExitedWithCode(1), "^marks: start marks: nowhere to write\n$");
}

TEST(ServingReport, CountsByReason) {
    ServingReport report;
    EXPECT_EQ(report.reasons(), "0");
    report.closed[static_cast<std::size_t>(CloseReason::peer_finished)] = 3;
    report.closed[static_cast<std::size_t>(CloseReason::server_stopped)] = 1;
    EXPECT_EQ(report.reasons(), "peer_finished=3 server_stopped=1");
}

TEST_F(ServingTest, InStepsItReportsWhatBecameOfTheConnections) {
    auto loops = std::move(*LoopGroup::create(1, {}));
    Listening listening({.addresses = options_.listen});
    ASSERT_TRUE(listening.bind());
    serving_.emplace(options_);
    ASSERT_TRUE(serving_->prepare(
        {.loops = loops.get(), .listening = &listening, .of_place = {TcpServerOptions{}}},
        [](core::EventLoop&) { return std::make_unique<MarkedPlaces>(1, false); }));
    ASSERT_TRUE(serving_->start());
    std::thread player([&] {
        EXPECT_EQ(Client(listening.addresses()[0]).ask(), 'a');
        serving_->stop();
    });
    const ServingReport report = serving_->serve();
    player.join();
    EXPECT_EQ(report.opened, 1U);
    EXPECT_EQ(report.cut_off, 0U);
    EXPECT_THAT(report.reasons(), ::testing::MatchesRegex("[a-z_]+=1"));
    serving_.reset();
}

}  // namespace
}  // namespace tiderace::net

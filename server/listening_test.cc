#include "server/listening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <new>

#include "tiderace/net/listener.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

class ListeningTest : public ::testing::Test {
  protected:
    ListeningTest() {
        folder_.write("index.html", "tide\n");
        options_.root = folder_.path();
        options_.listen = {"127.0.0.1:0"};
        options_.listen_is_default = false;
    }
    ~ListeningTest() override { listening_.reset(); }

    Result<> open(std::size_t workers) {
        if (auto made = make(workers); !made) return made;
        return listening_->start();
    }
    Result<> make(std::size_t workers) {
        parts_ = {.options = &options_,
                  .site = std::make_shared<const http::Site>(make_site(options_, {}, {})),
                  .listening_engine = listening_engine_,
                  .connections_max = 100,
                  .redirects_max = 10,
                  .loops = workers};
        std::vector<Worker*> all;
        for (std::size_t i = 0; i < workers; ++i) {
            loops_.push_back(std::move(*core::EventLoop::create({})));
            workers_.push_back(std::move(*Worker::create(*loops_.back(), parts_)));
            all.push_back(workers_.back().get());
        }
        auto sockets = ListeningSockets::open(options_);
        if (!sockets) return fail(sockets.error());
        sockets_ = std::move(*sockets);
        auto made = Listening::open(parts_, all, sockets_);
        if (!made) return fail(made.error());
        listening_ = std::move(*made);
        return {};
    }
    void turn() {
        for (const auto& loop : loops_) loop->turn(1ms);
    }
    // Connects, asks, and turns the loops until the connection ends.
    std::string ask(const core::Address& to, std::string_view target = "/",
                    std::string_view host = "tide") {
        sockaddr_storage storage;
        const socklen_t bytes = to.to_sockaddr(storage);
        const int fd = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_GE(fd, 0);
        if (fd < 0) return {};
        EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&storage), bytes), 0);
        const std::string request =
            "GET " + std::string(target) + " HTTP/1.0\r\nHost: " + std::string(host) + "\r\n\r\n";
        EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(request.size()));
        std::string heard;
        const core::SystemClock clock;
        for (const Instant end = clock.now() + 100s; clock.now() < end;) {
            turn();
            pollfd look{.fd = fd, .events = POLLIN, .revents = 0};
            if (::poll(&look, 1, 0) == 0) continue;
            char buffer[4096];
            const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
            if (got <= 0) break;
            heard.append(buffer, static_cast<std::size_t>(got));
        }
        ::close(fd);
        return heard;
    }
    void expect_served() {
        for (const core::Address& address : sockets_.addresses()) {
            for (int i = 0; i < 8; ++i) {
                EXPECT_THAT(ask(address), ::testing::EndsWith("\r\n\r\ntide\n"))
                    << address.to_string();
            }
        }
    }
    std::uint64_t opened(std::size_t worker) const {
        return workers_[worker]->connections().counters().opened;
    }

    testing::TemporaryFolder folder_;
    ServeOptions options_;
    std::string_view listening_engine_ = "auto";
    SharedParts parts_;
    std::vector<std::unique_ptr<core::EventLoop>> loops_;
    std::vector<std::unique_ptr<Worker>> workers_;
    ListeningSockets sockets_;
    std::unique_ptr<Listening> listening_;
};

TEST_F(ListeningTest, EveryModeServesWithOneWorkerAndWithTwo) {
    for (const AcceptMode mode : {AcceptMode::reuseport, AcceptMode::shared, AcceptMode::queue}) {
        for (const std::size_t workers : {1U, 2U}) {
            SCOPED_TRACE(static_cast<int>(mode) * 10 + static_cast<int>(workers));
            listening_.reset();
            workers_.clear();
            loops_.clear();
            options_.accept = mode;
            options_.listen = {"127.0.0.1:0", "unix:" + folder_.path_of("socket")};
            ASSERT_TRUE(open(workers).has_value());
            ASSERT_EQ(sockets_.addresses().size(), 2U);
            EXPECT_NE(sockets_.addresses()[0].port(), 0);
            EXPECT_FALSE(sockets_.port_fallback().has_value());
            expect_served();
            if (mode == AcceptMode::queue && workers == 2) {
                EXPECT_EQ(opened(0), opened(1));  // dealt out in turn
            }
        }
    }
}

TEST_F(ListeningTest, PlainAddressesLeadToTheFirstOfTheOthersInEveryMode) {
    folder_.write(".well-known/acme-challenge/token", "a token\n");
    for (const AcceptMode mode : {AcceptMode::reuseport, AcceptMode::shared, AcceptMode::queue}) {
        SCOPED_TRACE(static_cast<int>(mode));
        listening_.reset();
        workers_.clear();
        loops_.clear();
        options_.accept = mode;
        options_.tls.https_redirect = {"127.0.0.1:0", "unix:" + folder_.path_of("plain")};
        ASSERT_TRUE(open(2).has_value());
        ASSERT_EQ(sockets_.redirecting().size(), 2U);
        expect_served();
        const std::string port = std::to_string(sockets_.addresses()[0].port());
        for (const core::Address& address : sockets_.redirecting()) {
            EXPECT_THAT(ask(address, "/a?b", "tide:1"),
                        ::testing::HasSubstr("\r\nLocation: https://tide:" + port + "/a?b\r\n"));
            EXPECT_THAT(ask(address, "/.well-known/acme-challenge/token", "tide"),
                        ::testing::EndsWith("\r\n\r\na token\n"));
        }
        sockets_.remove_files();
    }
}

TEST_F(ListeningTest, NoTwoServersShareAPort) {
    ASSERT_TRUE(open(2).has_value());  // SO_REUSEPORT among its own workers
    ServeOptions again = options_;
    again.listen = {sockets_.addresses()[0].to_string()};
    EXPECT_FALSE(ListeningSockets::open(again).has_value());
}

TEST_F(ListeningTest, ALoopToListenOnThatCannotBeHadIsAnError) {
    options_.accept = AcceptMode::queue;
    listening_engine_ = "iocp";
    const auto opened = open(1);
    ASSERT_FALSE(opened.has_value());
    EXPECT_THAT(opened.error().message(), ::testing::HasSubstr("iocp"));
}

// The end is a post to the loop that listens, and a post takes memory.
TEST_F(ListeningTest, StopsThoughThereIsNoMemory) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    options_.accept = AcceptMode::queue;
    ASSERT_TRUE(open(1).has_value());
    {
        const testing::ScarceMemory scarce(1);
        listening_->stop();  // waits for the thread
        EXPECT_TRUE(scarce.failed());
    }
    // Nothing listens any more: the port can be had again.
    ServeOptions again = options_;
    again.listen = {sockets_.addresses()[0].to_string()};
    listening_.reset();
    EXPECT_TRUE(ListeningSockets::open(again).has_value());
}

// std::thread reports it by another exception than a limit of threads.
TEST_F(ListeningTest, AThreadThatThereIsNoMemoryForIsAnError) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    options_.accept = AcceptMode::queue;
    std::string message;
    for (std::uint64_t nth = 1; message.empty() && nth < 100; ++nth) {
        listening_.reset();
        workers_.clear();
        loops_.clear();
        ASSERT_TRUE(make(1).has_value());
        const testing::ScarceMemory scarce(nth);
        try {
            const auto started = listening_->start();
            ASSERT_TRUE(!started || !scarce.failed());
            if (started) break;
            message = started.error().message();
        } catch (const std::bad_alloc&) {  // before the thread: serve() catches it
        }
    }
    EXPECT_THAT(message, ::testing::HasSubstr("start the thread that listens: "));
}

TEST_F(ListeningTest, StoppingTwiceIsHarmless) {
    options_.accept = AcceptMode::queue;
    ASSERT_TRUE(open(1).has_value());
    listening_->stop();
    listening_->stop();
}

}  // namespace
}  // namespace tiderace::server

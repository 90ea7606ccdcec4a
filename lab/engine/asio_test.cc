// The loops that Asio's io_contexts turn, run by several threads. What a backend does by itself is
// asked in foreign_backend_test.cc.
#include "lab/engine/asio.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tiderace::lab::engine {
namespace {

struct Kind {
    const char* name;
    std::unique_ptr<ThreadingModel> (*arrange)();
};

class AsioLoopsOf : public ::testing::TestWithParam<Kind> {
  protected:
    static constexpr std::size_t loops_count = 3;

    void SetUp() override {
        if (!asio_absent().empty()) GTEST_SKIP() << asio_absent();
        auto made = GetParam().arrange()->make_loops(loops_count, {});
        ASSERT_TRUE(made);
        loops_ = std::move(*made);
    }

    std::unique_ptr<net::LoopGroup> loops_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, AsioLoopsOf,
                         ::testing::Values(Kind{"PerThread", arrange_asio_per_thread},
                                           Kind{"Shared", arrange_asio_shared}),
                         [](const auto& kind) { return std::string(kind.param.name); });

// Says back what it hears, and closes when the peer has ended.
class Echo final : core::IoObserver {
  public:
    Echo(core::EventLoop& loop, int fd) : loop_(&loop), handle_(*loop.backend().attach(fd, *this)) {
        loop.backend().set_receiving(handle_, true);
    }
    ~Echo() {
        if (handle_) close();
    }

  private:
    void on_received(ByteView bytes) override {
        loop_->assert_on_loop();
        if (bytes.empty()) return close();
        queue_.append(loop_->blocks(), bytes);
        send();
    }
    void on_sent(std::int64_t result) override {
        loop_->assert_on_loop();
        ASSERT_GE(result, 0);
        pending_ = false;
        send();
    }
    void send() {
        if (pending_ || queue_.empty()) return;
        pending_ = loop_->backend().send(handle_, queue_).pending;
    }
    void close() { loop_->backend().close(handle_, std::move(queue_)); }

    core::EventLoop* loop_;
    core::IoHandle handle_;
    core::SendQueue queue_;
    bool pending_ = false;
};

// A peer that says and hears `rounds` lines, then ends.
void talk(int fd, int rounds) {
    const std::string line(100, 'x');
    std::string heard(line.size(), '\0');
    for (int i = 0; i < rounds; ++i) {
        ASSERT_EQ(::write(fd, line.data(), line.size()), static_cast<ssize_t>(line.size()));
        ASSERT_EQ(::recv(fd, heard.data(), heard.size(), MSG_WAITALL),
                  static_cast<ssize_t>(heard.size()));
        ASSERT_EQ(heard, line);
    }
    ::shutdown(fd, SHUT_WR);
    ASSERT_EQ(::read(fd, heard.data(), heard.size()), 0);
    ::close(fd);
}

TEST_P(AsioLoopsOf, ServeTheirConnectionsUntilTheyAreStopped) {
    constexpr int connections = 12;
    std::vector<std::unique_ptr<Echo>> echoes;
    std::vector<std::thread> peers;
    for (std::size_t i = 0; i < connections; ++i) {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        echoes.push_back(std::make_unique<Echo>(loops_->loop(i % loops_count), ends[0]));
        peers.emplace_back(talk, ends[1], 50);
    }
    std::thread ending([&] {
        for (std::thread& peer : peers) peer.join();
        loops_->stop();
    });
    loops_->run();
    ending.join();
}

TEST_P(AsioLoopsOf, RunWhatIsPostedToThemOnTheirThread) {
    std::atomic<int> ran = 0;
    std::thread posting([&] {
        for (int i = 0; i < 300; ++i) {
            core::EventLoop& loop = loops_->loop(static_cast<std::size_t>(i) % loops_count);
            while (!loop.post([&] {
                EXPECT_TRUE(loop.on_loop_thread());
                ++ran;
            })) {
            }
        }
        loops_->stop();  // what was posted before runs before
    });
    loops_->run();
    posting.join();
    EXPECT_EQ(ran, 300);
}

struct Deadline final : core::Timer {
    Deadline(core::EventLoop& l, unique_function<void()> w) : loop(&l), work(std::move(w)) {}
    void on_expired() override {
        EXPECT_TRUE(loop->on_loop_thread());
        work();
    }
    core::EventLoop* loop;
    unique_function<void()> work;
};

TEST_P(AsioLoopsOf, KeepDeadlinesAlsoThoseThatMove) {
    core::EventLoop& loop = loops_->loop(0);
    std::vector<int> fired;
    Deadline last(loop, [&] {
        fired.push_back(3);
        loops_->stop();
    });
    Deadline second(loop, [&] {
        fired.push_back(2);
        loop.arm(last, loop.now() + 1ms);
    });
    // The second was to come first, and is moved back; then the last is set by it.
    Deadline first(loop, [&] {
        fired.push_back(1);
        loop.arm(second, loop.now() + 2ms);
    });
    loop.post([&] {
        loop.arm(second, loop.now() + 10s);
        loop.arm(first, loop.now() + 1ms);
    });
    loops_->run();
    EXPECT_EQ(fired, (std::vector<int>{1, 2, 3}));
}

TEST_P(AsioLoopsOf, MayBeTakenDownWithConnectionsOpen) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    auto echo = std::make_unique<Echo>(loops_->loop(1), ends[0]);
    loops_->loop(1).post([&] { loops_->stop(); });
    loops_->run();
    echo.reset();
    loops_.reset();
    char byte = 0;
    EXPECT_EQ(::read(ends[1], &byte, 1), 0) << "closed";
    ::close(ends[1]);
}

}  // namespace
}  // namespace tiderace::lab::engine

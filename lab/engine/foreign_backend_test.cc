// The checks of core/backend_test.cc, for the lab's engines: the other modes of
// epoll, blocking ones, and other libraries'. These may finish a send later, from
// dispatch(): then `pending` and on_sent tell.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "lab/engine/asio.h"
#include "lab/engine/blocking_backend.h"
#include "lab/engine/epoll_modes.h"
#include "lab/engine/libevent.h"
#include "tiderace/core/backend.h"
#include "tiderace/testing/world.h"

namespace tiderace::lab::engine {
namespace {

using core::BlockPool;
using core::IoHandle;
using core::SendQueue;
using core::Sent;

struct Maker {
    const char* name;
    std::string_view (*absent)();
    core::BackendFactory make;
};
constexpr std::string_view always_here() {
    return "";
}
constexpr Maker makers[] = {
    {"asio", asio_absent, make_asio_backend},
    {"libevent", libevent_absent, make_libevent_backend},
    {"epoll-lt", epoll_modes_absent, make_level_backend},
    {"epoll-et", epoll_modes_absent, make_edge_backend},
    {"epoll-oneshot", epoll_modes_absent, make_oneshot_backend},
    {"blocking", always_here, make_blocking_backend},
    {"blocking_epoll", always_here, make_blocking_epoll_backend},
};

// Records every callback.
struct Recorder final : core::IoObserver {
    void on_accepted(int fd, const core::Address&) override { accepted.push_back(fd); }
    void on_accept_failed(int error) override { errors.push_back(error); }
    void on_connected(int error) override { connected.push_back(error); }
    void on_received(ByteView bytes) override {
        bytes.empty() ? void(++ends) : void(received += bytes);
    }
    void on_receive_failed(int error) override { errors.push_back(error); }
    void on_sent(std::int64_t result) override { sent.push_back(result); }
    void on_ready(bool readable, bool writable) override {
        ready_readable += readable;
        ready_writable += writable;
    }

    std::vector<int> accepted, errors, connected;
    std::vector<std::int64_t> sent;
    std::string received;
    int ends = 0, ready_readable = 0, ready_writable = 0;
};

struct Held : core::SharedFile {
    explicit Held(std::string_view text) {
        char name[] = "/tmp/tiderace-foreign-XXXXXX";
        fd = ::mkstemp(name);
        ::unlink(name);
        EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    ~Held() override { ::close(fd); }
    int descriptor() const override { return fd; }
    int fd;
};

class ForeignBackend : public ::testing::TestWithParam<Maker> {
  protected:
    void SetUp() override {
        if (!GetParam().absent().empty()) GTEST_SKIP() << GetParam().absent();
        ::signal(SIGPIPE, SIG_IGN);
        auto made = GetParam().make({.receive_bytes = 4096});
        ASSERT_TRUE(made) << made.error().message();
        backend_ = std::move(*made);
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_), 0);
        near_ = *backend_->attach(ends_[0], recorder_);
    }
    void TearDown() override {
        if (near_) backend_->close(near_, {});
        if (ends_[1] >= 0) ::close(ends_[1]);
    }
    // One turn. Waits long enough for anything local to have happened, and no longer when it has.
    void turn(Duration wait = 5s) {
        backend_->wait(wait);
        backend_->dispatch();
    }
    template <typename Done>
    void turn_until(Done done) {
        for (int i = 0; i < 100 && !done(); ++i) turn();
        EXPECT_TRUE(done());
    }
    // Runs turns until no operation is in flight.
    void settle() {
        for (int i = 0; i < 5; ++i) turn(0s);
    }
    void peer_says(std::string_view text) {
        ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    std::string peer_reads() {
        char buffer[1 << 16];
        const ssize_t got = ::read(ends_[1], buffer, sizeof buffer);
        return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
    }
    // Sends the whole queue, as a connection does, while the peer reads. Returns how it ended.
    int send_all(SendQueue& queue, std::string& heard) {
        bool pending = false;
        for (int i = 0; i < 10'000; ++i) {
            if (!pending) {
                if (queue.empty()) return 0;
                const Sent sent = backend_->send(near_, queue);
                if (sent.error != 0) return sent.error;
                pending = sent.pending;
                continue;
            }
            const std::string piece = peer_reads();
            heard += piece;
            if (piece.empty() && recorder_.sent.empty()) turn();
            if (recorder_.sent.empty()) continue;
            pending = false;
            if (recorder_.sent.back() < 0) return static_cast<int>(recorder_.sent.back());
            recorder_.sent.clear();
        }
        ADD_FAILURE() << "never done";
        return 0;
    }

    std::unique_ptr<core::Backend> backend_;
    Recorder recorder_;
    int ends_[2] = {-1, -1};
    IoHandle near_;
    BlockPool pool_;
};

INSTANTIATE_TEST_SUITE_P(Engines, ForeignBackend, ::testing::ValuesIn(makers),
                         [](const auto& maker) {
                             std::string label = maker.param.name;  // no dash in a test's name
                             std::ranges::replace(label, '-', '_');
                             return label;
                         });

TEST_P(ForeignBackend, SaysItsName) {
    EXPECT_TRUE(backend_->name().starts_with(GetParam().name));
}

TEST_P(ForeignBackend, ReceivesOnlyWhileItIsAskedTo) {
    peer_says("early");
    settle();
    EXPECT_EQ(recorder_.received, "");
    backend_->set_receiving(near_, true);
    turn_until([&] { return recorder_.received == "early"; });
    backend_->set_receiving(near_, false);
    peer_says(" late");
    settle();
    EXPECT_EQ(recorder_.received, "early");
    backend_->set_receiving(near_, true);
    turn_until([&] { return recorder_.received == "early late"; });
}

TEST_P(ForeignBackend, ReceivesMoreThanOneBufferHolds) {
    backend_->set_receiving(near_, true);
    const std::string large(50'000, 'x');
    peer_says(large);
    ::shutdown(ends_[1], SHUT_WR);
    turn_until([&] { return recorder_.ends == 1; });
    EXPECT_EQ(recorder_.received, large);
}

TEST_P(ForeignBackend, TellsTheEndOnce) {
    backend_->set_receiving(near_, true);
    peer_says("last words");
    ::shutdown(ends_[1], SHUT_WR);
    turn_until([&] { return recorder_.ends == 1; });
    EXPECT_EQ(recorder_.received, "last words");
    settle();
    EXPECT_EQ(recorder_.ends, 1);
}

TEST_P(ForeignBackend, AnEndDuringAPauseIsReportedAfterIt) {
    backend_->set_receiving(near_, true);
    peer_says("a");
    turn_until([&] { return recorder_.received == "a"; });
    backend_->set_receiving(near_, false);
    peer_says("b");
    ::shutdown(ends_[1], SHUT_WR);
    settle();
    EXPECT_EQ(recorder_.ends, 0);
    EXPECT_EQ(recorder_.received, "a");
    backend_->set_receiving(near_, true);
    turn_until([&] { return recorder_.ends == 1; });
    EXPECT_EQ(recorder_.received, "ab");
}

TEST_P(ForeignBackend, SendsInOrderWhatIsCopiedSharedAndOfAFile) {
    struct Text : core::Shared {
        std::string text;
    };
    const auto shared = core::make_ref<Text>();
    shared->text = std::string(40'000, 's');
    SendQueue queue;
    queue.append(pool_, "<");
    queue.append_file(core::make_ref<Held>("0123456789"), 2, 5);
    queue.append(pool_, "|");
    queue.append_shared(shared->text, shared);
    queue.append(pool_, ">");
    std::string heard;
    EXPECT_EQ(send_all(queue, heard), 0);
    heard += peer_reads();
    EXPECT_EQ(heard, "<23456|" + shared->text + ">");
}

TEST_P(ForeignBackend, WaitsForRoomAndGoesOn) {
    backend_->set_receiving(near_, true);
    const std::string large(4 << 20, 'x');
    SendQueue queue;
    queue.append(pool_, large);
    std::string heard;
    EXPECT_EQ(send_all(queue, heard), 0);
    while (heard.size() < large.size()) {
        const std::string piece = peer_reads();
        if (piece.empty()) break;
        heard += piece;
    }
    EXPECT_EQ(heard, large);
    peer_says("and back");
    turn_until([&] { return recorder_.received == "and back"; });
}

TEST_P(ForeignBackend, TellsProgressWhileAPeerReadsSlowly) {
    SendQueue queue;
    queue.append_file(core::make_ref<Held>(std::string(4 << 20, 'f')), 0, 4 << 20);
    std::uint64_t taken = backend_->send(near_, queue).bytes;
    settle();
    for (const std::int64_t step : recorder_.sent) taken += static_cast<std::uint64_t>(step);
    EXPECT_GT(taken, 0U) << "progress is reported before everything is sent";
    EXPECT_EQ(taken + queue.bytes(), 4U << 20);
}

TEST_P(ForeignBackend, NoticesAFileThatShrank) {
    SendQueue queue;
    queue.append_file(core::make_ref<Held>("0123456789"), 8, 5);
    std::string heard;
    EXPECT_EQ(send_all(queue, heard), -EBADMSG);
    EXPECT_EQ(heard + peer_reads(), "89");
}

TEST_P(ForeignBackend, ADepartedPeerIsReported) {
    backend_->set_receiving(near_, true);
    ::close(std::exchange(ends_[1], -1));
    turn_until([&] { return recorder_.ends == 1 || !recorder_.errors.empty(); });
    SendQueue queue;
    queue.append(pool_, "x");
    const Sent sent = backend_->send(near_, queue);
    if (sent.error == 0) {
        ASSERT_TRUE(sent.pending);
        turn_until([&] { return !recorder_.sent.empty(); });
        EXPECT_EQ(recorder_.sent.back(), -EPIPE);
    } else {
        EXPECT_EQ(sent.error, -EPIPE);
    }
}

TEST_P(ForeignBackend, AClosedHandleGetsNoEventsAndItsNumberIsUsedAgain) {
    backend_->set_receiving(near_, true);
    peer_says("never seen");
    backend_->wait(5s);
    const int number = ends_[0];
    backend_->close(near_, {});
    EXPECT_FALSE(near_);
    // The next descriptor gets the same number; the event that waits is not for it.
    int other[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, other), 0);
    ASSERT_EQ(other[0], number);
    Recorder newcomer;
    IoHandle handle = *backend_->attach(other[0], newcomer);
    backend_->set_receiving(handle, true);
    backend_->dispatch();
    settle();
    EXPECT_EQ(recorder_.received, "");
    EXPECT_EQ(newcomer.received, "");
    EXPECT_TRUE(newcomer.errors.empty());
    ASSERT_EQ(::write(other[1], "seen", 4), 4);
    turn_until([&] { return newcomer.received == "seen"; });
    backend_->close(handle, {});
    ::close(other[1]);
}

TEST_P(ForeignBackend, AClosedSocketWithASendInFlightIsNotReadAgain) {
    struct Text : core::Shared {
        std::string text;
    };
    for (int i = 0; i < 2; ++i) {
        auto shared = core::make_ref<Text>();
        shared->text = std::string(8 << 20, 's');
        SendQueue queue;
        queue.append_shared(shared->text, shared);
        queue.append_file(core::make_ref<Held>("0123456789"), 0, 10);
        shared = {};
        EXPECT_TRUE(backend_->send(near_, queue).pending);
        if (i == 1) settle();
        backend_->close(near_, std::move(queue));  // frees the bytes that were being sent
        settle();
        ::close(ends_[1]);
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_), 0);
        near_ = *backend_->attach(ends_[0], recorder_);
    }
}

TEST_P(ForeignBackend, WakesFromAnotherThread) {
    std::thread waker([&] { backend_->wake(); });
    backend_->wait(Duration(-1));
    waker.join();
    backend_->dispatch();
    backend_->wake();
    backend_->wake();
    backend_->wait(Duration(-1));
    backend_->dispatch();
}

TEST_P(ForeignBackend, AWaitEndsByItself) {
    backend_->wait(1ms);
    backend_->dispatch();
    backend_->wait(0s);
    backend_->dispatch();
}

TEST_P(ForeignBackend, AcceptsAndConnects) {
    core::Kernel& kernel = core::system_kernel();
    testing::Listening listening = testing::listen_on_loopback(kernel, 16);
    Recorder accepting;
    IoHandle server = *backend_->attach(listening.socket.release(), accepting);
    backend_->set_accepting(server, true);

    Recorder connecting;
    IoHandle client = *backend_->attach(kernel.open_socket(AF_INET, SOCK_STREAM, 0), connecting);
    backend_->start_connect(client, listening.at);
    turn_until([&] { return !accepting.accepted.empty() && !connecting.connected.empty(); });
    EXPECT_EQ(accepting.accepted.size(), 1U);
    EXPECT_EQ(connecting.connected, std::vector<int>{0});

    // While it does not accept, connections wait; then they come.
    backend_->set_accepting(server, false);
    Recorder second;
    IoHandle waiting = *backend_->attach(kernel.open_socket(AF_INET, SOCK_STREAM, 0), second);
    backend_->start_connect(waiting, listening.at);
    turn_until([&] { return !second.connected.empty(); });
    settle();
    EXPECT_EQ(accepting.accepted.size(), 1U);
    backend_->set_accepting(server, true);
    turn_until([&] { return accepting.accepted.size() == 2; });

    // The connection that was made can be used.
    backend_->set_receiving(client, true);
    ASSERT_EQ(::write(accepting.accepted[0], "hello", 5), 5);
    turn_until([&] { return connecting.received == "hello"; });
    for (const int fd : accepting.accepted) ::close(fd);
    backend_->close(client, {});
    backend_->close(waiting, {});
    backend_->close(server, {});
}

TEST_P(ForeignBackend, ARefusedConnectIsReportedFromDispatch) {
    Recorder connecting;
    core::Kernel& kernel = core::system_kernel();
    IoHandle client = *backend_->attach(kernel.open_socket(AF_UNIX, SOCK_STREAM, 0), connecting);
    backend_->start_connect(client,
                            *core::Address::parse("unix:/tmp/tiderace-nobody-listens-here"));
    EXPECT_TRUE(connecting.connected.empty());
    turn_until([&] { return !connecting.connected.empty(); });
    EXPECT_EQ(connecting.connected, std::vector<int>{-ENOENT});
    backend_->close(client, {});
}

TEST_P(ForeignBackend, WatchesForeignDescriptors) {
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_NONBLOCK | O_CLOEXEC), 0);
    Recorder foreign;
    IoHandle handle = *backend_->attach(pipe[0], foreign);
    backend_->watch(handle, true, false);
    settle();
    EXPECT_EQ(foreign.ready_readable, 0);
    ASSERT_EQ(::write(pipe[1], "x", 1), 1);
    turn_until([&] { return foreign.ready_readable >= 1; });
    turn_until([&] { return foreign.ready_readable >= 2; });  // because the bytes are still unread
    char byte = 0;
    EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
    settle();
    const int read_out = foreign.ready_readable;
    settle();
    EXPECT_EQ(foreign.ready_readable, read_out) << "nothing is left to read";
    ASSERT_EQ(::write(pipe[1], "x", 1), 1);
    turn_until([&] { return foreign.ready_readable > read_out; });
    backend_->watch(handle, false, false);
    settle();
    const int told = foreign.ready_readable;
    settle();
    EXPECT_EQ(foreign.ready_readable, told);
    backend_->detach(handle);
    EXPECT_EQ(::close(pipe[0]), 0) << "detached, it is open still";
    ::close(pipe[1]);
}

}  // namespace
}  // namespace tiderace::lab::engine

#include "tiderace/core/backend.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tiderace/core/backend/kqueue.h"
#include "tiderace/core/kernel.h"
#include "tiderace/core/process_limits.h"
#include "tiderace/testing/engine.h"
#include "tiderace/testing/world.h"

namespace tiderace::core {
namespace {

// Records every callback.
struct Recorder final : IoObserver {
    void on_accepted(int fd, const Address&) override { accepted.push_back(fd); }
    void on_accept_failed(int error) override { errors.push_back(error); }
    void on_connected(int error) override { connected.push_back(error); }
    void on_received(ByteView bytes) override {
        if (bytes.empty()) {
            ended = true;
        } else {
            received += bytes;
        }
    }
    void on_receive_failed(int error) override { errors.push_back(error); }
    void on_sent(std::int64_t result) override { sent.push_back(result); }
    void on_ready(bool readable, bool writable) override {
        ready_readable |= readable;
        ready_writable |= writable;
    }

    std::vector<int> accepted, errors, connected;
    std::vector<std::int64_t> sent;
    std::string received;
    bool ended = false, ready_readable = false, ready_writable = false;
};

class EveryBackend : public ::testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        auto made = testing::make_engine(GetParam(), {});
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
    void peer_says(std::string_view text) {
        ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    std::string peer_reads() {
        char buffer[1 << 16];
        const ssize_t got = ::read(ends_[1], buffer, sizeof buffer);
        return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
    }

    std::unique_ptr<Backend> backend_;
    Recorder recorder_;
    int ends_[2];
    IoHandle near_;
    BlockPool pool_;
};

INSTANTIATE_TEST_SUITE_P(Engines, EveryBackend, ::testing::ValuesIn(testing::engine_names()),
                         [](const auto& engine) {
                             std::string label = engine.param;  // no dash in a test's name
                             std::ranges::replace(label, '-', '_');
                             return label;
                         });

TEST_P(EveryBackend, SaysItsName) {
    EXPECT_EQ(backend_->name(), testing::is_io_uring(GetParam()) ? "io_uring" : GetParam());
}

TEST_P(EveryBackend, ReceivesOnlyWhileItIsAskedTo) {
    peer_says("early");
    turn(0s);
    EXPECT_EQ(recorder_.received, "");
    backend_->set_receiving(near_, true);
    turn();
    EXPECT_EQ(recorder_.received, "early");
    backend_->set_receiving(near_, false);
    peer_says(" late");
    turn(0s);
    EXPECT_EQ(recorder_.received, "early");
    backend_->set_receiving(near_, true);
    turn();
    EXPECT_EQ(recorder_.received, "early late");
}

TEST_P(EveryBackend, TellsTheEndOnce) {
    backend_->set_receiving(near_, true);
    peer_says("last words");
    ::shutdown(ends_[1], SHUT_WR);
    turn();
    turn(0s);
    EXPECT_EQ(recorder_.received, "last words");
    EXPECT_TRUE(recorder_.ended);
    recorder_.ended = false;
    turn(0s);
    EXPECT_FALSE(recorder_.ended);
}

TEST_P(EveryBackend, SendsAtOnceWhatTheKernelTakes) {
    SendQueue queue;
    queue.append(pool_, "hello");
    const Sent sent = backend_->send(near_, queue);
    EXPECT_EQ(sent.bytes, 5U);
    EXPECT_FALSE(sent.pending);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(peer_reads(), "hello");
}

TEST_P(EveryBackend, WaitsForRoomAndGoesOn) {
    backend_->set_receiving(near_, true);
    const std::string large(4 << 20, 'x');
    SendQueue queue;
    queue.append(pool_, large);
    Sent sent = backend_->send(near_, queue);
    EXPECT_TRUE(sent.pending);
    std::size_t got = 0;
    while (got < large.size()) {
        const std::string piece = peer_reads();
        got += piece.size();
        if (piece.empty()) {
            turn();
            ASSERT_FALSE(recorder_.sent.empty());
            ASSERT_GE(recorder_.sent.back(), 0);
            recorder_.sent.clear();
            if (!queue.empty()) sent = backend_->send(near_, queue);
        }
    }
    EXPECT_TRUE(queue.empty());
    peer_says("and back");
    turn();
    EXPECT_EQ(recorder_.received, "and back") << "receiving goes on beside a send that waits";
    turn(0s);
    recorder_.sent.clear();
    turn(0s);
    turn(0s);
    EXPECT_TRUE(recorder_.sent.empty()) << "room is reported although nothing waits for it";
}

TEST_P(EveryBackend, SendsAFileRangeAndNoticesThatItShrank) {
    char name[] = "/tmp/tiderace-backend-XXXXXX";
    const int file = ::mkstemp(name);
    ::unlink(name);
    ASSERT_EQ(::write(file, "0123456789", 10), 10);
    struct Held : SharedFile {
        explicit Held(int f) : fd(f) {}
        ~Held() override { ::close(fd); }
        int descriptor() const override { return fd; }
        int fd;
    };
    const auto held = make_ref<Held>(file);
    SendQueue queue;
    queue.append(pool_, "<");
    queue.append_file(held, 2, 5);
    queue.append(pool_, ">");
    EXPECT_EQ(backend_->send(near_, queue).bytes, 7U);
    EXPECT_EQ(peer_reads(), "<23456>");
    queue.append_file(held, 8, 5);
    EXPECT_EQ(backend_->send(near_, queue).bytes + backend_->send(near_, queue).bytes, 2U);
    ASSERT_FALSE(queue.empty());
    turn();
    EXPECT_EQ(backend_->send(near_, queue).error, -EBADMSG);
}

TEST_P(EveryBackend, ADepartedPeerIsReported) {
    backend_->set_receiving(near_, true);
    ::close(std::exchange(ends_[1], -1));
    turn();
    EXPECT_TRUE(recorder_.ended || !recorder_.errors.empty());
    SendQueue queue;
    queue.append(pool_, "x");
    const Sent sent = backend_->send(near_, queue);
    if (sent.pending) {
        turn();
        EXPECT_EQ(recorder_.sent, std::vector<std::int64_t>{-EPIPE});
    } else {
        EXPECT_EQ(sent.error, -EPIPE);
    }
}

// Reporting a pause removed it from the engine; reading registers it again.
TEST_P(EveryBackend, APeerThatLeftInAPauseEndsWhenItIsReadAgain) {
    backend_->set_receiving(near_, true);
    backend_->set_receiving(near_, false);
    ::close(std::exchange(ends_[1], -1));
    for (int i = 0; i < 3; ++i) turn(0s);  // kqueue alone does not report it
    backend_->set_receiving(near_, true);
    for (int i = 0; i < 3 && !recorder_.ended; ++i) turn();
    EXPECT_TRUE(recorder_.ended);
    for (const int error : recorder_.errors) EXPECT_EQ(error, -ECONNRESET);
}

TEST_P(EveryBackend, ReportsAnEventOnce) {
    backend_->set_receiving(near_, true);
    peer_says("one");
    turn();
    EXPECT_EQ(recorder_.received, "one");
    peer_says("two");
    backend_->dispatch();  // what the last wait() found was dispatched before
    EXPECT_EQ(recorder_.received, "one");
    turn();
    EXPECT_EQ(recorder_.received, "onetwo");
}

TEST_P(EveryBackend, AClosedHandleGetsNoEventsAndItsNumberIsUsedAgain) {
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
    EXPECT_EQ(recorder_.received, "");
    EXPECT_EQ(newcomer.received, "");
    EXPECT_TRUE(newcomer.errors.empty());
    backend_->close(handle, {});
    ::close(other[1]);
}

TEST_P(EveryBackend, WakesFromAnotherThread) {
    std::thread waker([&] { backend_->wake(); });
    backend_->wait(Duration(-1));
    waker.join();
    backend_->wake();
    backend_->wake();
    backend_->wait(Duration(-1));
    backend_->dispatch();
}

TEST_P(EveryBackend, AcceptsAndConnects) {
    Kernel& kernel = system_kernel();
    testing::Listening listening = testing::listen_on_loopback(kernel, 16);
    Recorder accepting;
    IoHandle server = *backend_->attach(listening.socket.release(), accepting);
    backend_->set_accepting(server, true);

    Recorder connecting;
    IoHandle client = *backend_->attach(kernel.open_socket(AF_INET, SOCK_STREAM, 0), connecting);
    backend_->start_connect(client, listening.at);
    for (int i = 0; i < 10 && (accepting.accepted.empty() || connecting.connected.empty()); ++i)
        turn();
    ASSERT_EQ(accepting.accepted.size(), 1U);
    ASSERT_EQ(connecting.connected, std::vector<int>{0});
    ::close(accepting.accepted[0]);
    backend_->close(client, {});
    backend_->close(server, {});
}

// Clients that have connected, and wait to be accepted.
struct Newcomers {
    explicit Newcomers(int count) : listening(testing::listen_on_loopback(system_kernel(), 256)) {
        sockaddr_storage storage;
        const socklen_t bytes = listening.at.to_sockaddr(storage);
        for (int i = 0; i < count; ++i) {
            open.emplace_back(system_kernel(), ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            EXPECT_EQ(::connect(open.back().get(), reinterpret_cast<sockaddr*>(&storage), bytes),
                      0);
        }
    }

    testing::Listening listening;
    std::vector<Descriptor> open;
};

constexpr const char* accepts_by_completion = "its connections come without a call";

TEST_P(EveryBackend, AcceptsAShareOfWhatATurnHas) {
    if (testing::is_io_uring(GetParam())) GTEST_SKIP() << accepts_by_completion;
    Newcomers newcomers(32);
    Recorder accepting;
    IoHandle server = *backend_->attach(newcomers.listening.socket.release(), accepting);
    backend_->set_accepting(server, true);
    turn();
    EXPECT_EQ(accepting.accepted.size(), 1U) << "of a turn that has nothing else";

    std::vector<Recorder> talking(40);
    std::vector<Descriptor> far;
    std::vector<IoHandle> handles;
    for (Recorder& recorder : talking) {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        far.emplace_back(system_kernel(), ends[1]);
        ASSERT_EQ(::write(ends[1], "hello", 5), 5);
        handles.push_back(*backend_->attach(ends[0], recorder));
        backend_->set_receiving(handles.back(), true);
    }
    turn();
    EXPECT_EQ(accepting.accepted.size(), 1U + 41 / 8);
    for (const Recorder& recorder : talking) EXPECT_EQ(recorder.received, "hello");
    for (IoHandle& handle : handles) backend_->close(handle, {});
    for (const int fd : accepting.accepted) ::close(fd);
    backend_->close(server, {});
}

// More descriptors are ready than one turn reports, so the listening socket is reported rarely.
TEST_P(EveryBackend, FullTurnsAcceptTheirShareToo) {
    if (testing::is_io_uring(GetParam())) GTEST_SKIP() << accepts_by_completion;
    ASSERT_TRUE(raise_descriptor_limit());
    constexpr int newcomers_count = 200;
    Newcomers newcomers(newcomers_count);
    const int busy_count = GetParam() == "select" ? 600 : 3'000;
    Recorder busy;
    std::vector<IoHandle> handles;
    peer_says("always readable");
    for (int i = 0; i < busy_count; ++i) {
        handles.push_back(*backend_->attach(::fcntl(ends_[0], F_DUPFD_CLOEXEC, 0), busy));
        backend_->watch(handles.back(), true, false);
    }
    Recorder accepting;
    // Behind all others, for engines that go over them by number or age.
    IoHandle server =
        *backend_->attach(::fcntl(newcomers.listening.socket.get(), F_DUPFD_CLOEXEC, 0), accepting);
    backend_->set_accepting(server, true);
    for (int i = 0; i < 10 && accepting.accepted.empty(); ++i) turn();
    EXPECT_EQ(accepting.accepted.size(), 64U);
    turn();
    EXPECT_EQ(accepting.accepted.size(), 128U);
    turn();
    EXPECT_EQ(accepting.accepted.size(), 192U);
    turn();
    EXPECT_EQ(accepting.accepted.size(), std::size_t{newcomers_count});
    for (const int fd : accepting.accepted) ::close(fd);
    for (IoHandle& handle : handles) backend_->close(handle, {});
    backend_->close(server, {});
}

TEST_P(EveryBackend, ARefusedConnectIsReportedFromDispatch) {
    Recorder connecting;
    IoHandle client =
        *backend_->attach(system_kernel().open_socket(AF_UNIX, SOCK_STREAM, 0), connecting);
    backend_->start_connect(client, *Address::parse("unix:/tmp/tiderace-nobody-listens-here"));
    EXPECT_TRUE(connecting.connected.empty());
    turn();
    EXPECT_EQ(connecting.connected, std::vector<int>{-ENOENT});
    backend_->close(client, {});
}

TEST_P(EveryBackend, WatchesForeignDescriptors) {
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_NONBLOCK | O_CLOEXEC), 0);
    Recorder foreign;
    IoHandle handle = *backend_->attach(pipe[0], foreign);
    EXPECT_EQ(backend_->watch(handle, true, false), 0);
    EXPECT_EQ(backend_->watch(handle, true, false), 0) << "the same again";
    turn(0s);
    EXPECT_FALSE(foreign.ready_readable);
    ASSERT_EQ(::write(pipe[1], "x", 1), 1);
    turn();
    EXPECT_TRUE(foreign.ready_readable);
    backend_->detach(handle);
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST_P(EveryBackend, AForeignDescriptorIsReadyInTheDirectionThatIs) {
    struct Directions final : IoObserver {
        void on_ready(bool r, bool w) override { readable = r, writable = w; }
        bool readable = false, writable = false;
    } foreign;
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    IoHandle handle = *backend_->attach(ends[0], foreign);
    ASSERT_EQ(backend_->watch(handle, true, true), 0);
    turn();
    EXPECT_FALSE(foreign.readable);
    EXPECT_TRUE(foreign.writable);
    const std::string filling(65'536, 'x');
    while (::write(ends[0], filling.data(), filling.size()) > 0) {
    }
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    turn();
    EXPECT_TRUE(foreign.readable);
    EXPECT_FALSE(foreign.writable);
    backend_->detach(handle);
    for (const int fd : ends) ::close(fd);
}

// What a foreign descriptor reports happened before the requests that come with it.
TEST_P(EveryBackend, ForeignDescriptorsComeBeforeStreams) {
    ASSERT_TRUE(raise_descriptor_limit());
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_NONBLOCK | O_CLOEXEC), 0);
    struct Foreign final : IoObserver {
        void on_ready(bool, bool) override {
            streams_before = static_cast<int>(streams->received.size());
            ++told;
        }
        Recorder* streams = nullptr;
        int streams_before = -1, told = 0;
    };
    // Few, and then more than one turn reports, so that the foreign one may be left out.
    for (const int count : {3, GetParam() == "select" ? 450 : 1'200}) {
        Recorder streams;
        Foreign foreign;
        foreign.streams = &streams;
        IoHandle handle = *backend_->attach(pipe[0], foreign);
        std::vector<IoHandle> handles;
        std::vector<int> far;
        for (int i = 0; i < count; ++i) {
            int ends[2];
            ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
                      0);
            ASSERT_EQ(::write(ends[1], "x", 1), 1);
            far.push_back(ends[1]);
            handles.push_back(*backend_->attach(ends[0], streams));
            backend_->set_receiving(handles.back(), true);
        }
        backend_->watch(handle, true, false);
        ASSERT_EQ(::write(pipe[1], "x", 1), 1);
        turn();
        EXPECT_EQ(foreign.told, 1) << count;
        EXPECT_EQ(foreign.streams_before, 0) << count;
        EXPECT_GT(streams.received.size(), 0U) << count;
        char byte;
        EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
        backend_->detach(handle);
        for (IoHandle& each : handles) backend_->close(each, {});
        for (const int fd : far) ::close(fd);
    }
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST(Select, RefusesDescriptorsItCannotHold) {
    auto backend = make_backend("select", {});
    ASSERT_TRUE(backend);
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    const int high = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 2000);
    ASSERT_GE(high, 2000);
    Recorder recorder;
    IoHandle handle = *(*backend)->attach(high, recorder);
    (*backend)->set_receiving(handle, true);
    (*backend)->wait(5s);
    (*backend)->dispatch();
    EXPECT_EQ(recorder.errors, std::vector<int>{-EMFILE});
    (*backend)->close(handle, {});
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(MakeBackend, AnUnknownEngineIsNamedWithTheKnownOnes) {
    const auto made = make_backend("iocp", {});
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message().find("iocp"), std::string::npos);
    EXPECT_NE(made.error().message().find("poll select"), std::string::npos);
}

TEST(MakeBackend, AnEngineOfAnotherSystemSaysWhereItIs) {
    const std::string_view foreign = has_kqueue() ? "epoll" : "kqueue";
    const auto made = make_backend(foreign, {});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message(), "choose the engine " + std::string(foreign) + ": " +
                                          (has_kqueue() ? "Linux" : "BSD and macOS") +
                                          " only; this machine has: auto " +
                                          std::string(engine_names()));
}

}  // namespace
}  // namespace tiderace::core

#include "tiderace/core/backend/readiness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/core/backend/forwarding_kernel.h"

namespace tiderace::core {
namespace {

// The tests for every engine are in core/backend_test.cc; here are the calls to the poller.
struct Calls final : Poller {
    int set(int, std::uint32_t, Interest interest, bool known) override {
        sets.emplace_back(interest, known);
        return 0;
    }
    void remove(int, Afterwards) override { ++removals; }
    int wait(std::span<Ready>, Duration) override { return 0; }
    void wake() override {}

    std::vector<std::pair<Interest, bool>> sets;
    int removals = 0;
};

TEST(ReadinessBackend, CallsThePollerOnlyWhereTheInterestChanges) {
    auto owned = std::make_unique<Calls>();
    Calls& calls = *owned;
    ReadinessBackend backend("test", std::move(owned), {});
    struct Nothing final : IoObserver {
    } observer;
    IoHandle handle = *backend.attach(7, observer);
    backend.set_receiving(handle, false);
    EXPECT_TRUE(calls.sets.empty()) << "nothing was wanted before either";
    for (int i = 0; i < 3; ++i) backend.set_receiving(handle, true);
    ASSERT_EQ(calls.sets.size(), 1U);
    EXPECT_EQ(calls.sets[0].first, Interest{.readable = true});
    EXPECT_FALSE(calls.sets[0].second);
    for (int i = 0; i < 3; ++i) backend.set_receiving(handle, false);
    ASSERT_EQ(calls.sets.size(), 2U);
    EXPECT_EQ(calls.sets[1].first, Interest{});
    EXPECT_TRUE(calls.sets[1].second);
    backend.detach(handle);
    EXPECT_EQ(calls.removals, 1);
}

// A full turn of epoll, of which a wake-up took one place.
struct WokenTurns final : Poller {
    int set(int, std::uint32_t, Interest, bool) override { return 0; }
    void remove(int, Afterwards) override {}
    int wait(std::span<Ready> out, Duration) override {
        std::ranges::fill(out, Ready{});  // others, which are closed by now
        out[0] = std::exchange(once, Ready{});
        return static_cast<int>(out.size()) - 1;
    }
    void wake() override {}

    Ready once;
};

// A client waits whenever it accepts.
struct EndlessClients final : ForwardingKernel {
    EndlessClients() : ForwardingKernel(system_kernel()) {}
    int accept(int, sockaddr*, socklen_t* bytes) override {
        *bytes = 0;
        return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
};

TEST(ReadinessBackend, AFullTurnThatWasWokenAcceptsItsShareToo) {
    struct Counting final : IoObserver {
        void on_accepted(int fd, const Address&) override {
            ::close(fd);
            ++accepted;
        }
        int accepted = 0;
    } observer;
    auto owned = std::make_unique<WokenTurns>();
    WokenTurns& poller = *owned;
    EndlessClients kernel;
    ReadinessBackend backend("test", std::move(owned), {.kernel = &kernel});
    IoHandle listener = *backend.attach(7, observer);
    backend.set_accepting(listener, true);
    poller.once = {.fd = 7, .generation = listener.generation, .readable = true};
    int before = 0;
    for (int turn = 1; turn <= 3; ++turn) {
        backend.wait(Duration::zero());
        backend.dispatch();
        EXPECT_GT(observer.accepted, before) << "turn " << turn;
        before = observer.accepted;
    }
    backend.detach(listener);
}

// --- a poller, a kernel and an observer that the test answers for --------------------------------

using Log = std::vector<std::string>;

// The calls of both, in their order.
struct AnsweringPoller final : Poller {
    explicit AnsweringPoller(Log& all) : calls(&all) {}
    int set(int, std::uint32_t, Interest, bool known) override {
        calls->emplace_back(known ? "change" : "add");
        return set_result;
    }
    void remove(int, Afterwards afterwards) override {
        calls->emplace_back(afterwards == Afterwards::closed ? "remove closed" : "remove");
    }
    int wait(std::span<Ready> out, Duration wait_max) override {
        waits.push_back(wait_max);
        if (wait_result != 0) {
            std::ranges::fill(out, Ready{});
            return wait_result < 0 ? wait_result : static_cast<int>(out.size()) - wait_result;
        }
        std::ranges::copy(ready, out.begin());
        return static_cast<int>(std::exchange(ready, {}).size());
    }
    void wake() override {}

    Log* calls;
    std::vector<Ready> ready;
    std::vector<Duration> waits;
    int set_result = 0;
    int wait_result = 0;  // not 0: -errno, or by how many of a full turn it falls short
};

struct AnsweringKernel final : ForwardingKernel {
    explicit AnsweringKernel(Log& all) : ForwardingKernel(system_kernel()), calls(&all) {}
    int connect(int, const sockaddr*, socklen_t) override { return -EINPROGRESS; }
    int get_option(int, int, int, void* value, socklen_t*) override {
        *static_cast<int*>(value) = socket_error;
        return 0;
    }
    ssize_t receive(int, void*, std::size_t) override { return received; }
    ssize_t send(int, const iovec*, int, bool) override { return -EAGAIN; }
    int shut_down(int, int) override { return 0; }
    int close(int) override {
        calls->emplace_back("close");
        return 0;
    }

    Log* calls;
    ssize_t received = 1;
    int socket_error = 0;
};

struct CallLog final : IoObserver {
    explicit CallLog(Log& all) : calls(&all) {}
    void on_accept_failed(int error) override { say("accept", error); }
    void on_connected(int error) override { say("connected", error); }
    void on_received(ByteView bytes) override { say("received", static_cast<int>(bytes.size())); }
    void on_receive_failed(int error) override { say("failed", error); }
    void on_sent(std::int64_t result) override {
        say("sent", static_cast<int>(result));
        if (when_sent) when_sent();
    }
    void on_ready(bool readable, bool writable) override {
        say("ready", (readable ? 1 : 0) + (writable ? 2 : 0));
    }
    void say(const std::string& what, int number) {
        calls->push_back(what + ' ' + std::to_string(number));
    }
    Log* calls;
    std::function<void()> when_sent;
};

class ScriptedReadiness : public ::testing::Test {
  protected:
    static constexpr int fd = 7;

    ScriptedReadiness() {
        auto owned = std::make_unique<AnsweringPoller>(calls_);
        poller_ = owned.get();
        backend_ = std::make_unique<ReadinessBackend>("test", std::move(owned),
                                                      BackendOptions{.kernel = &kernel_});
        attach();
    }
    void attach() { handle_ = *backend_->attach(fd, observer_); }
    // One more like it, for the next case.
    void renew() {
        backend_->detach(handle_);
        attach();
        calls_.clear();
    }
    void send_into_full_buffer() {
        SendQueue queue;
        queue.append_shared("x", {});
        EXPECT_TRUE(backend_->send(handle_, queue).pending);
    }
    // The calls of a turn in which the poller reports this.
    Log turn(Ready ready) {
        calls_.clear();
        ready.fd = fd;
        ready.generation = handle_.generation;
        poller_->ready = {ready};
        return turn();
    }
    Log turn() {
        calls_.clear();
        backend_->wait(1h);
        backend_->dispatch();
        return calls_;
    }

    Log calls_;
    AnsweringKernel kernel_{calls_};
    CallLog observer_{calls_};
    AnsweringPoller* poller_ = nullptr;
    std::unique_ptr<ReadinessBackend> backend_;
    IoHandle handle_;
};

const std::string reset_error = std::to_string(-ECONNRESET);

TEST_F(ScriptedReadiness, AStreamIsToldOfWhatItWants) {
    backend_->set_receiving(handle_, true);
    EXPECT_EQ(turn({.readable = true}), (Log{"received 1"}));
    EXPECT_EQ(turn({.writable = true}), Log{});
    EXPECT_EQ(turn({.failed = true}), (Log{"received 1"})) << "what came before the fault";
    kernel_.received = -ECONNRESET;
    EXPECT_EQ(turn({.failed = true}), (Log{"change", "failed " + reset_error, "remove"}))
        << "reported once";
    kernel_.received = -EAGAIN;
    renew();
    backend_->set_receiving(handle_, true);
    EXPECT_EQ(turn({.readable = true}), Log{}) << "another event of the turn has read it";
    renew();
    kernel_.received = 0;
    backend_->set_receiving(handle_, true);
    EXPECT_EQ(turn({.readable = true}), (Log{"change", "received 0"}));
}

TEST_F(ScriptedReadiness, AStreamThatWaitsForRoomIsToldOnce) {
    send_into_full_buffer();
    EXPECT_EQ(turn({.readable = true}), Log{}) << "it does not receive";
    EXPECT_EQ(turn({.writable = true}), (Log{"sent 0", "change"}));
    EXPECT_EQ(turn({.writable = true}), Log{});
    renew();
    send_into_full_buffer();
    EXPECT_EQ(turn({.failed = true}), (Log{"sent 0", "change"})) << "its send meets the fault";
    renew();
    backend_->set_receiving(handle_, true);
    send_into_full_buffer();
    EXPECT_EQ(turn({.readable = true, .writable = true}), (Log{"received 1", "sent 0", "change"}));
}

TEST_F(ScriptedReadiness, AStreamThatFillsItsRoomAgainGoesOnWaitingWithoutACall) {
    observer_.when_sent = [this] { send_into_full_buffer(); };
    send_into_full_buffer();
    EXPECT_EQ(turn({.writable = true}), (Log{"sent 0"}));
    observer_.when_sent = nullptr;
    EXPECT_EQ(turn({.writable = true}), (Log{"sent 0", "change"}));
}

TEST_F(ScriptedReadiness, AStreamMayBeClosedByTheReportOfItsRoom) {
    observer_.when_sent = [this] { backend_->close(handle_, {}); };
    send_into_full_buffer();
    EXPECT_EQ(turn({.writable = true}), (Log{"sent 0", "remove closed", "close"}));
    EXPECT_EQ(turn({.writable = true}), Log{});
}

TEST_F(ScriptedReadiness, APausedStreamIsToldThatItsPeerIsGoneAndOnce) {
    backend_->set_receiving(handle_, true);
    backend_->set_receiving(handle_, false);
    EXPECT_EQ(turn({.readable = true, .writable = true}), Log{});
    EXPECT_EQ(turn({.failed = true}), (Log{"remove", "failed " + reset_error}));
    calls_.clear();
    backend_->set_receiving(handle_, true);
    EXPECT_EQ(calls_, (Log{"add"})) << "the poller does not know it any more";
    renew();
    // With our direction ended, the peer's orderly end is a hang-up as well.
    backend_->set_receiving(handle_, true);
    backend_->set_receiving(handle_, false);
    backend_->shut_down_sending(handle_);
    EXPECT_EQ(turn({.failed = true}), (Log{"remove"}));
}

TEST_F(ScriptedReadiness, AForeignDescriptorIsToldOfWhatItWants) {
    ASSERT_EQ(backend_->watch(handle_, true, false), 0);
    EXPECT_EQ(calls_, (Log{"add"}));
    EXPECT_EQ(turn({.readable = true, .writable = true}), (Log{"ready 1"}));
    EXPECT_EQ(turn({.writable = true}), Log{});
    EXPECT_EQ(turn({.failed = true}), (Log{"ready 1"}));
    calls_.clear();
    ASSERT_EQ(backend_->watch(handle_, false, true), 0);
    ASSERT_EQ(backend_->watch(handle_, false, true), 0);
    EXPECT_EQ(calls_, (Log{"change"}));
    EXPECT_EQ(turn({.readable = true, .writable = true}), (Log{"ready 2"}));
    EXPECT_EQ(turn({.readable = true}), Log{});
    EXPECT_EQ(turn({.failed = true}), (Log{"ready 2"}));
    ASSERT_EQ(backend_->watch(handle_, true, true), 0);
    EXPECT_EQ(turn({.failed = true}), (Log{"ready 3"}));
    calls_.clear();
    ASSERT_EQ(backend_->watch(handle_, false, false), 0);
    ASSERT_EQ(backend_->watch(handle_, false, false), 0);
    EXPECT_EQ(calls_, (Log{"remove"}));
    EXPECT_EQ(turn({.readable = true, .failed = true}), Log{});
    // The caller learns of a refusal by the poller, and the next call tries again.
    poller_->set_result = -ENOSPC;
    calls_.clear();
    EXPECT_EQ(backend_->watch(handle_, true, false), -ENOSPC);
    poller_->set_result = 0;
    EXPECT_EQ(backend_->watch(handle_, true, false), 0);
    EXPECT_EQ(calls_, (Log{"add", "add"}));
}

// The turn may lack its event, so the descriptor itself is polled.
TEST_F(ScriptedReadiness, InAFullTurnAForeignDescriptorIsToldOfWhatItIsReadyFor) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    IoHandle foreign = *backend_->attach(ends[0], observer_);
    ASSERT_EQ(backend_->watch(foreign, true, true), 0);
    poller_->wait_result = -EINTR;
    EXPECT_EQ(turn(), (Log{"ready 2"}));
    const std::string filling(65'536, 'x');
    while (::write(ends[0], filling.data(), filling.size()) > 0) {
    }
    EXPECT_EQ(turn(), Log{});
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    EXPECT_EQ(turn(), (Log{"ready 1"}));
    backend_->detach(foreign);
    for (const int fd : ends) ::close(fd);
}

TEST_F(ScriptedReadiness, InAFullTurnOneThatAnotherHasEndedIsNotReported) {
    struct Ending final : IoObserver {
        void on_ready(bool, bool) override {
            ++reports;
            backend->detach(*other);
        }
        ReadinessBackend* backend = nullptr;
        IoHandle* other = nullptr;
        int reports = 0;
    };
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    std::array<Ending, 2> observers;
    std::array<IoHandle, 2> handles;
    for (std::size_t i = 0; i < 2; ++i) {
        handles[i] = *backend_->attach(ends[i], observers[i]);
        observers[i].backend = backend_.get();
        observers[i].other = &handles[1 - i];
        ASSERT_EQ(backend_->watch(handles[i], false, true), 0);
    }
    poller_->wait_result = -EINTR;
    turn();
    EXPECT_EQ(observers[0].reports + observers[1].reports, 1);
    backend_->detach(handles[observers[0].reports == 1 ? 0 : 1]);
    for (const int fd : ends) ::close(fd);
}

TEST_F(ScriptedReadiness, AConnectThatFailedIsNotPolledAnyMore) {
    const Address to = Address::loopback(80);
    backend_->start_connect(handle_, to);
    EXPECT_EQ(turn({.writable = true}), (Log{"change", "connected 0"}));
    calls_.clear();
    backend_->set_receiving(handle_, true);
    EXPECT_EQ(calls_, (Log{"change"}));
    renew();
    backend_->start_connect(handle_, to);
    EXPECT_EQ(turn({.writable = true}), (Log{"change", "connected 0"}));
    EXPECT_EQ(turn({.failed = true}), (Log{"remove", "failed " + reset_error}))
        << "it is connected once";
    renew();
    kernel_.socket_error = ECONNREFUSED;
    backend_->start_connect(handle_, to);
    EXPECT_EQ(turn({.failed = true}),
              (Log{"change", "remove", "connected " + std::to_string(-ECONNREFUSED)}));
    calls_.clear();
    backend_->detach(handle_);
    EXPECT_EQ(calls_, Log{}) << "it is removed already";
    attach();
}

TEST_F(ScriptedReadiness, WhatThePollerRefusesIsReportedByTheNextTurnAtOnce) {
    const std::string error = std::to_string(-ENOSPC);
    poller_->set_result = -ENOSPC;
    backend_->set_receiving(handle_, true);
    EXPECT_EQ(turn(), (Log{"failed " + error}));
    EXPECT_EQ(poller_->waits.back(), Duration::zero());
    EXPECT_EQ(turn(), Log{});
    EXPECT_EQ(poller_->waits.back(), 1h);
    renew();
    backend_->set_accepting(handle_, true);
    EXPECT_EQ(turn(), (Log{"accept " + error}));
    renew();
    backend_->start_connect(handle_, Address::loopback(80));
    EXPECT_EQ(turn(), (Log{"connected " + error}));
}

TEST_F(ScriptedReadiness, IsRemovedBeforeItIsClosed) {
    backend_->set_receiving(handle_, true);
    calls_.clear();
    backend_->close(handle_, {});
    EXPECT_EQ(calls_, (Log{"remove closed", "close"}));
    attach();
    calls_.clear();
    backend_->close(handle_, {});
    EXPECT_EQ(calls_, (Log{"close"})) << "the poller never knew it";
}

TEST_F(ScriptedReadiness, ATurnHasMoreIfItWasFullOrInterrupted) {
    EXPECT_EQ(turn(), Log{});
    EXPECT_FALSE(backend_->has_more());
    for (const auto& [result, more] :
         {std::pair{-EINTR, true}, std::pair{1, true}, std::pair{2, false}}) {
        poller_->wait_result = result;
        EXPECT_EQ(turn(), Log{});
        EXPECT_EQ(backend_->has_more(), more) << result;
    }
}

}  // namespace
}  // namespace tiderace::core

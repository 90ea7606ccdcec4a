#include "tiderace/core/backend/readiness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tiderace/core/backend/forwarding_kernel.h"

namespace tiderace::core {
namespace {

// What every engine does is in core/backend_test.cc; here is which calls of the poller that takes.
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
    struct : IoObserver {
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

}  // namespace
}  // namespace tiderace::core

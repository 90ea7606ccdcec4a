// Any allocation of a turn may fail: no exception leaves wait() or dispatch(), no descriptor is
// lost, and the next turn goes on.
#include "tiderace/testing/scarce_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "tiderace/core/backend.h"
#include "tiderace/core/kernel.h"
#include "tiderace/testing/engine.h"
#include "tiderace/testing/fail_nth.h"

namespace tiderace::core {
namespace {

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Records without memory.
struct Accepted final : IoObserver {
    ~Accepted() {
        for (std::size_t i = 0; i < count; ++i) ::close(descriptors[i]);
    }
    void on_accepted(int fd, const Address& peer) override {
        all_are_unix &= peer.is_unix();
        descriptors[count++] = fd;
    }

    std::array<int, 8> descriptors{};
    std::size_t count = 0;
    bool all_are_unix = true;
};

// Waits with all the memory there is, and dispatches with the nth allocation failing.
bool scarce_turn(Backend& backend, std::uint64_t nth) {
    backend.wait(0s);
    const testing::ScarceMemory scarce(nth);
    EXPECT_NO_THROW(backend.dispatch());
    return scarce.failed();
}

class EveryBackendInNeed : public ::testing::TestWithParam<std::string> {
  protected:
    std::unique_ptr<Backend> make() const {
        return std::move(*testing::make_engine(GetParam(), {.accepts_per_turn_max = 1}));
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, EveryBackendInNeed, ::testing::ValuesIn(testing::engine_names()),
                         [](const auto& engine) {
                             std::string name = engine.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

// A Unix peer with a name, whose address needs memory.
Descriptor connect_named(const Address& to, int number) {
    Descriptor client(system_kernel(), ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage raw;
    const std::string path =
        to.to_string() + "-a-client-with-a-long-name-" + std::to_string(number);
    socklen_t bytes = Address::parse(path)->to_sockaddr(raw);
    EXPECT_EQ(::bind(client.get(), reinterpret_cast<sockaddr*>(&raw), bytes), 0);
    bytes = to.to_sockaddr(raw);
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&raw), bytes), 0);
    return client;
}

TEST_P(EveryBackendInNeed, AcceptsAndLosesNoDescriptor) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
#if !defined(__linux__)
    GTEST_SKIP() << "no abstract sockets";
#endif
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        const auto backend = make();
        const Address at =
            *Address::parse("unix:@tiderace-in-need-" + std::to_string(::getpid()) + GetParam());
        const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        sockaddr_storage raw;
        const socklen_t bytes = at.to_sockaddr(raw);
        EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&raw), bytes), 0);
        EXPECT_EQ(::listen(listener, 8), 0);
        Accepted accepted;
        IoHandle handle = *backend->attach(listener, accepted);
        backend->set_accepting(handle, true);
        std::vector<Descriptor> clients;
        const std::size_t open_before = open_descriptors();
        for (int i = 0; i < 4; ++i) clients.push_back(connect_named(at, i));
        const bool failed = scarce_turn(*backend, nth);
        for (int i = 0; i < 10; ++i) scarce_turn(*backend, 0);
        // io_uring accepts ahead, and closes what it cannot remember.
        if (testing::is_io_uring(GetParam())) {
            EXPECT_GE(accepted.count + 1, clients.size()) << nth;
        } else {
            EXPECT_EQ(accepted.count, clients.size()) << nth;
        }
        EXPECT_TRUE(accepted.all_are_unix) << nth;
        EXPECT_EQ(open_descriptors(), open_before + clients.size() + accepted.count) << nth;
        backend->close(handle, {});
        return failed;
    });
    EXPECT_GE(calls, 2U);
}

// So many foreign descriptors are ready that the engine reports a part, and has to ask for the
// others with memory of its own.
TEST_P(EveryBackendInNeed, ReportsForeignDescriptorsInTheNextTurn) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    struct Told final : IoObserver {
        void on_ready(bool, bool) override { ++count; }
        std::size_t count = 0;
    };
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const Descriptor first(system_kernel(), ends[0]);
    const Descriptor writing(system_kernel(), ends[1]);
    ASSERT_EQ(::write(writing.get(), "x", 1), 1);
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        const auto backend = make();
        std::array<Told, 600> told;
        std::vector<IoHandle> handles;
        for (Told& each : told) {
            handles.push_back(*backend->attach(::dup(first.get()), each));
            EXPECT_EQ(backend->watch(handles.back(), true, false), 0);
        }
        const bool failed = scarce_turn(*backend, nth);
        scarce_turn(*backend, 0);
        scarce_turn(*backend, 0);
        for (const Told& each : told) EXPECT_GE(each.count, 1U) << nth;
        for (IoHandle& handle : handles) backend->close(handle, {});
        return failed;
    });
    EXPECT_GE(calls, 1U);
}

struct Received final : IoObserver {
    void on_received(ByteView bytes) override { count += bytes.size(); }
    void on_receive_failed(int error) override { failure = error; }
    std::size_t count = 0;
    int failure = 0;
};

// Asking for input and waiting need memory for as many descriptors as there are.
TEST_P(EveryBackendInNeed, AsksAndWaitsAndLosesNoInput) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    testing::fail_each([&](std::uint64_t nth) {
        const auto backend = make();
        std::array<Received, 200> streams;
        std::vector<IoHandle> handles;
        std::vector<Descriptor> peers;
        for (Received& each : streams) {
            int ends[2];
            EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
                      0);
            handles.push_back(*backend->attach(ends[0], each));
            peers.emplace_back(system_kernel(), ends[1]);
            EXPECT_EQ(::write(ends[1], "x", 1), 1);
        }
        bool failed = false;
        {
            const testing::ScarceMemory scarce(nth);
            for (const IoHandle handle : handles) {
                EXPECT_NO_THROW(backend->set_receiving(handle, true));
            }
            if (!testing::is_stand_in(GetParam())) {  // which needs memory of its own
                EXPECT_NO_THROW(backend->wait(0s));
                EXPECT_NO_THROW(backend->dispatch());
            }
            failed = scarce.failed();
        }
        for (int i = 0; i < 20; ++i) scarce_turn(*backend, 0);
        for (const Received& each : streams) {
            EXPECT_TRUE(each.count == 1 || each.failure == -ENOMEM) << nth;
        }
        for (IoHandle& handle : handles) backend->close(handle, {});
        return failed;
    });
}

TEST_P(EveryBackendInNeed, ADescriptorThatItCannotHoldIsStillTheCallers) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        const auto backend = make();
        Received stream;
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        const Descriptor peer(system_kernel(), ends[1]);
        bool failed = false;
        {
            const testing::ScarceMemory scarce(nth);
            Result<IoHandle> handle = IoHandle{};
            EXPECT_NO_THROW(handle = backend->attach(ends[0], stream));
            failed = scarce.failed();
            EXPECT_EQ(handle.has_value(), !failed);
            if (!handle) {
                EXPECT_EQ(handle.error().code(), ENOMEM);
            } else {
                backend->detach(*handle);
            }
        }
        IoHandle handle = *backend->attach(ends[0], stream);
        backend->set_receiving(handle, true);
        EXPECT_EQ(::write(peer.get(), "x", 1), 1);
        for (int i = 0; i < 3; ++i) scarce_turn(*backend, 0);
        EXPECT_EQ(stream.count, 1U);
        backend->close(handle, {});
        return failed;
    });
    EXPECT_GE(calls, 1U);
}

// A Unix socket is refused in the call itself, and its outcome has to be remembered.
TEST_P(EveryBackendInNeed, ReportsEachConnectThatFails) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    struct Told final : IoObserver {
        void on_connected(int error) override {
            ++count;
            outcome = error;
        }
        int count = 0;
        int outcome = 1;
    };
    const Address absent =
        *Address::parse("unix:/tmp/tiderace-absent-" + std::to_string(::getpid()));
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        const auto backend = make();
        std::array<Told, 3> told;
        std::array<IoHandle, 3> handles;
        for (std::size_t i = 0; i < told.size(); ++i) {
            handles[i] = *backend->attach(
                ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), told[i]);
        }
        bool failed = false;
        {
            const testing::ScarceMemory scarce(nth);
            for (const IoHandle handle : handles) {
                EXPECT_NO_THROW(backend->start_connect(handle, absent));
            }
            failed = scarce.failed();
        }
        backend->wait(-1s);  // returns at once: there is something to report
        backend->dispatch();
        for (int i = 0; i < 2; ++i) scarce_turn(*backend, 0);
        for (const Told& each : told) {
            EXPECT_EQ(each.count, 1) << nth;
            EXPECT_TRUE(each.outcome == -ENOENT || each.outcome == -ENOMEM) << each.outcome;
        }
        for (IoHandle& handle : handles) backend->close(handle, {});
        return failed;
    });
    EXPECT_GE(calls, 1U);
}

// The engine refuses the descriptor, and there is no memory to note that.
TEST(SelectInNeed, ReportsADescriptorBeyondItsBound) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    const Descriptor peer(system_kernel(), ends[1]);
    const Descriptor low(system_kernel(), ends[0]);
    const int high = ::fcntl(low.get(), F_DUPFD_CLOEXEC, FD_SETSIZE);
    if (high < 0) GTEST_SKIP() << "no descriptor of this number is allowed";
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        const auto backend = std::move(*testing::make_engine("select", {}));
        Received stream;
        IoHandle handle = *backend->attach(::fcntl(high, F_DUPFD_CLOEXEC, FD_SETSIZE), stream);
        bool failed = false;
        {
            const testing::ScarceMemory scarce(nth);
            EXPECT_NO_THROW(backend->set_receiving(handle, true));
            failed = scarce.failed();
        }
        backend->wait(-1s);  // returns at once: there is something to report
        backend->dispatch();
        EXPECT_EQ(stream.failure, failed ? -ENOMEM : -EMFILE);
        backend->close(handle, {});
        return failed;
    });
    EXPECT_EQ(calls, 1U);
    ::close(high);
}

}  // namespace
}  // namespace tiderace::core

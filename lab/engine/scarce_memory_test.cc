// Without memory an engine refuses a descriptor, as core's do, and goes on. Behind an exception
// nothing would close it: its client would stand there.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "lab/engine/asio.h"
#include "lab/engine/blocking_backend.h"
#include "lab/engine/edge_poller.h"
#include "lab/engine/libevent.h"
#include "lab/engine/oneshot_poller.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::lab::engine {
namespace {

using testing::fail_each;
using testing::ScarceMemory;

// Its number is so high that every table has to grow for it.
class HighDescriptor {
  public:
    HighDescriptor() {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        fd_ = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 700);
        ::close(ends[0]);
        ::close(ends[1]);
    }
    ~HighDescriptor() { ::close(fd_); }
    int get() const { return fd_; }

  private:
    int fd_ = -1;
};

class Silent final : public core::IoObserver {};

TEST(ScarceMemory, ABackendRefusesWhatItCannotHold) {
    if (!ScarceMemory::works) GTEST_SKIP() << ScarceMemory::why_not;
    const HighDescriptor descriptor;
    for (const auto make : {make_blocking_backend, make_blocking_epoll_backend,
                            make_libevent_backend, make_asio_backend}) {
        if (!make({})) continue;  // built without that library
        fail_each([&](std::uint64_t nth) {
            auto backend = std::move(*make({}));
            Silent observer;
            bool failed = false;
            Result<core::IoHandle> handle = [&] {
                const ScarceMemory scarce(nth);
                auto attached = backend->attach(descriptor.get(), observer);
                failed = scarce.failed();
                return attached;
            }();
            EXPECT_EQ(handle.has_value(), !failed) << backend->name() << ", allocation " << nth;
            if (!handle) {
                EXPECT_EQ(handle.error().code(), ENOMEM);
                handle = backend->attach(descriptor.get(), observer);
            }
            EXPECT_TRUE(handle) << "the next one finds nothing left over";
            if (handle) backend->detach(*handle);
            return failed;
        });
    }
}

TEST(ScarceMemory, APollerRefusesWhatItCannotHold) {
    if (!ScarceMemory::works) GTEST_SKIP() << ScarceMemory::why_not;
    const HighDescriptor descriptor;
    const auto refuses = [&](core::Poller& poller, std::uint64_t nth) {
        bool failed = false;
        int outcome = 0;
        {
            const ScarceMemory scarce(nth);
            outcome = poller.set(descriptor.get(), 1, {.readable = true}, false);
            failed = scarce.failed();
        }
        EXPECT_EQ(outcome, failed ? -ENOMEM : 0);
        if (failed) {
            EXPECT_EQ(poller.set(descriptor.get(), 1, {.readable = true}, false), 0);
        }
        poller.remove(descriptor.get(), core::Afterwards::open);
        return failed;
    };
    fail_each([&](std::uint64_t nth) {
        EdgePoller poller(core::system_kernel());
        return refuses(poller, nth);
    });
    fail_each([&](std::uint64_t nth) {
        OneshotPoller poller;
        return refuses(poller, nth);
    });
}

}  // namespace
}  // namespace tiderace::lab::engine

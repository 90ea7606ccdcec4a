// The kqueue of the system: BSD and macOS.
#include <fcntl.h>
#include <sys/event.h>
#include <unistd.h>

#include <cerrno>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/kqueue.h"

namespace tiderace::core {
namespace {

class SystemQueue final : public KernelQueue {
  public:
    explicit SystemQueue(int queue) : queue_(queue) {}
    ~SystemQueue() override { ::close(queue_); }
    SystemQueue(const SystemQueue&) = delete;
    SystemQueue& operator=(const SystemQueue&) = delete;

    int exchange(std::span<const struct kevent> changes, std::span<struct kevent> events,
                 const timespec* wait_max) override {
        const int count = ::kevent(queue_, changes.data(), static_cast<int>(changes.size()),
                                   events.data(), static_cast<int>(events.size()), wait_max);
        return count < 0 ? -errno : count;
    }

  private:
    int queue_;
};

}  // namespace

std::unique_ptr<Poller> make_kqueue_poller() {
    const int queue = ::kqueue();
    TR_CHECK(queue >= 0, "no descriptor left for a loop's kqueue");
    ::fcntl(queue, F_SETFD, FD_CLOEXEC);
    return make_kqueue_poller(std::make_unique<SystemQueue>(queue));
}

bool has_kqueue() {
    return true;
}

}  // namespace tiderace::core

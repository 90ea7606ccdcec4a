#include "tiderace/net/systemd_notifier.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "tiderace/base/ascii.h"
#include "tiderace/base/moment.h"

namespace tiderace::net {
namespace {

std::optional<std::uint64_t> number_in(const char* name) {
    const char* const text = std::getenv(name);
    return text != nullptr ? parse_number<std::uint64_t>(text) : std::nullopt;
}

}  // namespace

SystemdNotifier::SystemdNotifier() {
#if defined(__linux__)
    const char* const socket = std::getenv("NOTIFY_SOCKET");
    // Other kinds, as vsock:, are for virtual machines.
    if (socket == nullptr || (*socket != '/' && *socket != '@')) return;
    if (std::strlen(socket) >= sizeof(sockaddr_un::sun_path)) return;
    socket_ = socket;
    const auto microseconds = number_in("WATCHDOG_USEC");
    const auto process = number_in("WATCHDOG_PID");
    // Inherited from a process that is watched itself.
    if (process && *process != static_cast<std::uint64_t>(::getpid())) return;
    constexpr std::uint64_t most = std::uint64_t{365} * 24 * 3'600 * 1'000'000;
    if (microseconds && *microseconds <= most) {
        patience_ = std::chrono::microseconds(static_cast<std::int64_t>(*microseconds));
    }
#endif
}

// No descriptor is kept, because messages are rare.
void SystemdNotifier::tell(std::string_view state) const {
    if (socket_.empty()) return;
#if defined(__linux__)
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, socket_.data(), socket_.size());
    if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
    const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return;
    ::sendto(descriptor, state.data(), state.size(), 0, reinterpret_cast<const sockaddr*>(&to),
             bytes);
    ::close(descriptor);
#else
    static_cast<void>(state);
#endif
}

Heartbeat::Heartbeat(const SystemdNotifier& systemd, LoopGroup& loops)
    : systemd_(&systemd), loops_(&loops), interval_(systemd.patience() / 2) {
    if (interval_ > Duration::zero()) wait();
}

void Heartbeat::wait() {
    core::EventLoop& first = loops_->loop(0);
    first.assert_on_loop();
    first.arm(*this, moment_after(first.clock().now(), interval_));
}

// One round at a time: a loop that hangs gets no second message into its mailbox.
void Heartbeat::on_expired() {
    if (waited_for_ == 0) {
        if (asked_all_) systemd_->tell("WATCHDOG=1");
        ask_all();
    }
    wait();
}

void Heartbeat::ask_all() {
    waited_for_ = loops_->size();
    asked_all_ = true;
    for (std::size_t i = 0; i < loops_->size(); ++i) {
        if (loops_->loop(i).post([this] { --waited_for_; })) continue;
        // Its mailbox is full; the next round asks it again.
        --waited_for_;
        asked_all_ = false;
    }
    loops_->attend();
}

}  // namespace tiderace::net

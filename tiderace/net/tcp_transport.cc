#include "tiderace/net/tcp_transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <utility>

namespace tiderace::net {

// SO_LINGER with a time of zero: close() drops unsent bytes and sends a reset.
void reset_on_close(core::Kernel& kernel, int fd) {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    kernel.set_option(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

Result<std::unique_ptr<TcpTransport>> TcpTransport::make(core::EventLoop& loop, int fd) {
    std::unique_ptr<TcpTransport> made(new (std::nothrow) TcpTransport(loop));
    Result<core::IoHandle> handle =
        made != nullptr ? loop.backend().attach(fd, *made) : fail({ENOMEM, "watch", "a socket"});
    if (handle) {
        // An accepted socket gets its observer later (open()). Nothing can be reported before,
        // because the backend was given no operation yet.
        made->handle_ = *handle;
        return made;
    }
    // Nothing owns the descriptor yet.
    loop.kernel().close(fd);
    return fail(std::move(handle.error()));
}

namespace {

// Between the connection and open(). A failure of that time is reported again to the receiver that
// comes then.
class NotOpen final : public Transport::Observer {
    void on_received(ByteView) override {}
    void on_receive_failed(int) override {}
    void on_sent(std::int64_t) override {}
};
constinit NotOpen not_open;

}  // namespace

void TcpTransport::on_connected(int error) {
    Opening* const opening = opening_;
    observer_ = &not_open;
    opening->on_connected(error);
}

TcpTransport::~TcpTransport() {
    if (handle_) close({});
}

void TcpTransport::connect(const core::Address& to, Opening& opening) {
    opening_ = &opening;
    loop_->backend().start_connect(handle_, to);
}

void TcpTransport::open(Observer& observer) {
    observer_ = &observer;
}

void TcpTransport::set_receiving(bool on) {
    loop_->backend().set_receiving(handle_, on);
}

core::Sent TcpTransport::send(core::SendQueue& queue) {
    return loop_->backend().send(handle_, queue);
}

void TcpTransport::finish() {
    loop_->backend().shut_down_sending(handle_);
}

void TcpTransport::close(core::SendQueue&& unsent) {
    if (handle_) loop_->backend().close(handle_, std::move(unsent));
}

void TcpTransport::set_reset_on_close() {
    if (handle_) reset_on_close(loop_->kernel(), handle_.fd);
}

std::uint64_t TcpTransport::unacknowledged_bytes() const {
    return handle_ ? loop_->kernel().unacknowledged_bytes(handle_.fd) : 0;
}

bool TcpTransport::tune(const SocketOptions& options) {
    if (!handle_) return false;
    bool taken = true;
    const auto set = [&](int level, int name, std::uint64_t value) {
        // The option is an int; a larger wish means as much as there is.
        const int number = static_cast<int>(std::min<std::uint64_t>(
            value, static_cast<std::uint64_t>(std::numeric_limits<int>::max())));
        if (loop_->kernel().set_option(handle_.fd, level, name, &number, sizeof number) < 0) {
            taken = false;
        }
    };
    if (options.no_delay) set(IPPROTO_TCP, TCP_NODELAY, *options.no_delay ? 1 : 0);
    if (options.keep_alive) {
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(*options.keep_alive).count();
        // Whole seconds, rounded up: half a second must not become 0, which turns probes off.
        set(SOL_SOCKET, SO_KEEPALIVE, seconds > 0 ? 1 : 0);
#if defined(TCP_KEEPIDLE)
        if (seconds > 0) set(IPPROTO_TCP, TCP_KEEPIDLE, static_cast<std::uint64_t>(seconds));
#elif defined(TCP_KEEPALIVE)
        if (seconds > 0) set(IPPROTO_TCP, TCP_KEEPALIVE, static_cast<std::uint64_t>(seconds));
#endif
    }
    if (options.send_buffer_bytes > 0) set(SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes);
    if (options.receive_buffer_bytes > 0) set(SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes);
    return taken;
}

}  // namespace tiderace::net

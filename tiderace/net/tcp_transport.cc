#include "tiderace/net/tcp_transport.h"

#include <sys/socket.h>

namespace tiderace::net {

void reset_on_close(core::Kernel& kernel, int fd) {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    kernel.set_option(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

TcpTransport::TcpTransport(core::EventLoop& loop, int fd) : loop_(&loop) {
    if (auto handle = loop.backend().attach(fd, *this)) {
        handle_ = *handle;
    } else {
        loop.kernel().close(fd);
    }
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

}  // namespace tiderace::net

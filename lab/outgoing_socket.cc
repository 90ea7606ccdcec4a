#include "lab/outgoing_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace tiderace::lab {

OutgoingSocket::~OutgoingSocket() {
    if (handle_) loop_->backend().close(handle_, {});
}

int OutgoingSocket::prepare(int fd, const Place& place) {
    core::Kernel& kernel = loop_->kernel();
    const int on = 1;
    kernel.set_option(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (place.receive_buffer_bytes > 0) {
        kernel.set_option(fd, SOL_SOCKET, SO_RCVBUF, &place.receive_buffer_bytes, sizeof(int));
    }
    if (place.from == nullptr) return 0;
#if defined(IP_BIND_ADDRESS_NO_PORT)
    // The port is chosen with the peer known: each pair of addresses has all of them.
    kernel.set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
#endif
    sockaddr_storage storage;
    const socklen_t bytes = place.from->to_sockaddr(storage);
    return kernel.bind(fd, reinterpret_cast<const sockaddr*>(&storage), bytes);
}

int OutgoingSocket::start(const Place& place) {
    sockaddr_storage storage;
    place.to->to_sockaddr(storage);
    const int fd = loop_->kernel().open_socket(storage.ss_family, SOCK_STREAM, 0);
    if (fd < 0) return -fd;
    if (const int error = prepare(fd, place); error != 0) {
        loop_->kernel().close(fd);
        return -error;
    }
    const auto attached = loop_->backend().attach(fd, *this);
    if (!attached) {
        loop_->kernel().close(fd);
        return EMFILE;
    }
    handle_ = *attached;
    loop_->backend().start_connect(handle_, *place.to);
    return 0;
}

void OutgoingSocket::set_receiving(bool on) {
    loop_->backend().set_receiving(handle_, on);
}

core::Sent OutgoingSocket::send(core::SendQueue& queue) {
    return loop_->backend().send(handle_, queue);
}

void OutgoingSocket::finish() {
    loop_->backend().shut_down_sending(handle_);
}

void OutgoingSocket::close(core::SendQueue&& unsent) {
    if (handle_) loop_->backend().close(handle_, std::move(unsent));
}

void OutgoingSocket::set_reset_on_close() {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    loop_->kernel().set_option(handle_.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

}  // namespace tiderace::lab

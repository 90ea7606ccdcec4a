#include "tiderace/core/backend/forwarding_kernel.h"

namespace tiderace::core {

int ForwardingKernel::open_socket(int family, int type, int protocol) {
    if (const int result = before(KernelCall::open_socket)) return result;
    return below_->open_socket(family, type, protocol);
}

int ForwardingKernel::bind(int fd, const sockaddr* address, socklen_t bytes) {
    if (const int result = before(KernelCall::bind)) return result;
    return below_->bind(fd, address, bytes);
}

int ForwardingKernel::listen(int fd, int backlog) {
    if (const int result = before(KernelCall::listen)) return result;
    return below_->listen(fd, backlog);
}

int ForwardingKernel::accept(int fd, sockaddr* peer, socklen_t* bytes) {
    if (const int result = before(KernelCall::accept)) return result;
    return below_->accept(fd, peer, bytes);
}

int ForwardingKernel::connect(int fd, const sockaddr* address, socklen_t bytes) {
    if (const int result = before(KernelCall::connect)) return result;
    return below_->connect(fd, address, bytes);
}

int ForwardingKernel::local_address(int fd, sockaddr* address, socklen_t* bytes) {
    if (const int result = before(KernelCall::local_address)) return result;
    return below_->local_address(fd, address, bytes);
}

int ForwardingKernel::set_option(int fd, int level, int name, const void* value, socklen_t bytes) {
    if (const int result = before(KernelCall::set_option)) return result;
    return below_->set_option(fd, level, name, value, bytes);
}

int ForwardingKernel::get_option(int fd, int level, int name, void* value, socklen_t* bytes) {
    if (const int result = before(KernelCall::get_option)) return result;
    return below_->get_option(fd, level, name, value, bytes);
}

ssize_t ForwardingKernel::receive(int fd, void* buffer, std::size_t bytes) {
    if (const int result = before(KernelCall::receive)) return result;
    return below_->receive(fd, buffer, bytes);
}

ssize_t ForwardingKernel::send(int fd, const iovec* pieces, int count, bool more) {
    if (const int result = before(KernelCall::send)) return result;
    return below_->send(fd, pieces, count, more);
}

ssize_t ForwardingKernel::send_file(int fd, int file, off_t* offset, std::size_t bytes) {
    if (const int result = before(KernelCall::send_file)) return result;
    return below_->send_file(fd, file, offset, bytes);
}

int ForwardingKernel::shut_down(int fd, int how) {
    if (const int result = before(KernelCall::shut_down)) return result;
    return below_->shut_down(fd, how);
}

int ForwardingKernel::close(int fd) {
    const int result = before(KernelCall::close);
    const int closed = below_->close(fd);
    return result != 0 ? result : closed;
}

int ForwardingKernel::open_beneath(int directory, const char* path, int flags, Links links) {
    if (const int result = before(KernelCall::open_beneath)) return result;
    return below_->open_beneath(directory, path, flags, links);
}

int ForwardingKernel::file_status(int fd, struct stat* status) {
    if (const int result = before(KernelCall::file_status)) return result;
    return below_->file_status(fd, status);
}

ssize_t ForwardingKernel::read_at(int fd, void* buffer, std::size_t bytes, off_t offset) {
    if (const int result = before(KernelCall::read_at)) return result;
    return below_->read_at(fd, buffer, bytes, offset);
}

ssize_t ForwardingKernel::read_now(int fd, void* buffer, std::size_t bytes, off_t offset) {
    if (const int result = before(KernelCall::read_at)) return result;
    return below_->read_now(fd, buffer, bytes, offset);
}

int ForwardingKernel::entry_status(int directory, const char* name, struct stat* status) {
    if (const int result = before(KernelCall::entry_status)) return result;
    return below_->entry_status(directory, name, status);
}

ssize_t ForwardingKernel::read_directory(int directory, void* buffer, std::size_t bytes) {
    if (const int result = before(KernelCall::read_directory)) return result;
    return below_->read_directory(directory, buffer, bytes);
}

}  // namespace tiderace::core

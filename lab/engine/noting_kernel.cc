#include "lab/engine/noting_kernel.h"

#include <cerrno>

#include "tiderace/core/backend/direct_send.h"

namespace tiderace::lab::engine {

static_assert(EWOULDBLOCK == EAGAIN);

int NotingKernel::accept(int fd, sockaddr* peer, socklen_t* bytes) {
    const int accepted = below_->accept(fd, peer, bytes);
    notes_->note_call(fd, {.readable = accepted == -EAGAIN});
    return accepted;
}

int NotingKernel::connect(int fd, const sockaddr* address, socklen_t bytes) {
    const int outcome = below_->connect(fd, address, bytes);
    notes_->note_call(fd, {});
    return outcome;
}

int NotingKernel::get_option(int fd, int level, int name, void* value, socklen_t* bytes) {
    const int outcome = below_->get_option(fd, level, name, value, bytes);
    notes_->note_call(fd, {});
    return outcome;
}

ssize_t NotingKernel::receive(int fd, void* buffer, std::size_t bytes) {
    const ssize_t got = below_->receive(fd, buffer, bytes);
    // 0 is the end of the bytes, which stays readable. Urgent data apart, of which no protocol here
    // knows, a short count is proof that nothing is left.
    const bool is_short = got > 0 && static_cast<std::size_t>(got) < bytes;
    notes_->note_call(fd, {.readable = got == -EAGAIN || is_short});
    return got;
}

ssize_t NotingKernel::send(int fd, const iovec* pieces, int count, bool more) {
    std::size_t offered = 0;
    for (int i = 0; i < count; ++i) offered += pieces[i].iov_len;
    const ssize_t sent = below_->send(fd, pieces, count, more);
    const bool is_short = sent >= 0 && static_cast<std::size_t>(sent) < offered;
    notes_->note_call(fd, {.writable = core::is_no_room(sent) || is_short});
    return sent;
}

ssize_t NotingKernel::send_file(int fd, int file, off_t* offset, std::size_t bytes) {
    const ssize_t sent = below_->send_file(fd, file, offset, bytes);
    notes_->note_call(fd, {.writable = core::is_no_room(sent)});
    return sent;
}

// The others say nothing about readiness.

int NotingKernel::open_socket(int family, int type, int protocol) {
    return below_->open_socket(family, type, protocol);
}
int NotingKernel::bind(int fd, const sockaddr* address, socklen_t bytes) {
    return below_->bind(fd, address, bytes);
}
int NotingKernel::listen(int fd, int backlog) {
    return below_->listen(fd, backlog);
}
int NotingKernel::local_address(int fd, sockaddr* address, socklen_t* bytes) {
    return below_->local_address(fd, address, bytes);
}
int NotingKernel::set_option(int fd, int level, int name, const void* value, socklen_t bytes) {
    return below_->set_option(fd, level, name, value, bytes);
}
int NotingKernel::shut_down(int fd, int how) {
    return below_->shut_down(fd, how);
}
int NotingKernel::close(int fd) {
    return below_->close(fd);
}
int NotingKernel::open_beneath(int directory, const char* path, int flags, core::Links links) {
    return below_->open_beneath(directory, path, flags, links);
}
int NotingKernel::file_status(int fd, struct stat* status) {
    return below_->file_status(fd, status);
}
ssize_t NotingKernel::read_at(int fd, void* buffer, std::size_t bytes, off_t offset) {
    return below_->read_at(fd, buffer, bytes, offset);
}
ssize_t NotingKernel::read_now(int fd, void* buffer, std::size_t bytes, off_t offset) {
    return below_->read_now(fd, buffer, bytes, offset);
}
int NotingKernel::entry_status(int directory, const char* name, struct stat* status) {
    return below_->entry_status(directory, name, status);
}
ssize_t NotingKernel::read_directory(int directory, void* buffer, std::size_t bytes) {
    return below_->read_directory(directory, buffer, bytes);
}

}  // namespace tiderace::lab::engine

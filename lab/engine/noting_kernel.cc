#include "lab/engine/noting_kernel.h"

#include <cerrno>

#include "tiderace/core/backend/direct_send.h"

namespace tiderace::lab::engine {

static_assert(EWOULDBLOCK == EAGAIN);

int NotingKernel::accept(int fd, sockaddr* peer, socklen_t* bytes) {
    const int accepted = ForwardingKernel::accept(fd, peer, bytes);
    notes_->note_call(fd, {.readable = accepted == -EAGAIN});
    return accepted;
}

int NotingKernel::connect(int fd, const sockaddr* address, socklen_t bytes) {
    const int outcome = ForwardingKernel::connect(fd, address, bytes);
    notes_->note_call(fd, {});
    return outcome;
}

int NotingKernel::get_option(int fd, int level, int name, void* value, socklen_t* bytes) {
    const int outcome = ForwardingKernel::get_option(fd, level, name, value, bytes);
    // Nothing is exhausted, but the descriptor's calls come through here, so the poller may trust
    // its notes about it (a connect is followed by get_option, for SO_ERROR).
    notes_->note_call(fd, {});
    return outcome;
}

ssize_t NotingKernel::receive(int fd, void* buffer, std::size_t bytes) {
    const ssize_t got = ForwardingKernel::receive(fd, buffer, bytes);
    // 0 is the end of the bytes, which stays readable. Urgent data apart, of which no protocol here
    // knows, a short count is proof that nothing is left.
    const bool is_short = got > 0 && static_cast<std::size_t>(got) < bytes;
    notes_->note_call(fd, {.readable = got == -EAGAIN || is_short});
    return got;
}

ssize_t NotingKernel::send(int fd, const iovec* pieces, int count, bool more) {
    std::size_t offered = 0;
    for (int i = 0; i < count; ++i) offered += pieces[i].iov_len;
    const ssize_t sent = ForwardingKernel::send(fd, pieces, count, more);
    const bool is_short = sent >= 0 && static_cast<std::size_t>(sent) < offered;
    notes_->note_call(fd, {.writable = core::is_no_room(sent) || is_short});
    return sent;
}

ssize_t NotingKernel::send_file(int fd, int file, off_t* offset, std::size_t bytes) {
    const ssize_t sent = ForwardingKernel::send_file(fd, file, offset, bytes);
    notes_->note_call(fd, {.writable = core::is_no_room(sent)});
    return sent;
}

}  // namespace tiderace::lab::engine

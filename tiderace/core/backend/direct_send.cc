#include "tiderace/core/backend/direct_send.h"

#include <algorithm>
#include <cerrno>
#include <span>

namespace tiderace::core {
namespace {

constexpr std::size_t pieces_per_send = 64;  // beyond this a gathering write gains nothing

// Less than offered means the socket's buffer is full: a second call would only report that.
DirectSend outcome(ssize_t sent, std::uint64_t offered, SendQueue& queue) {
    if (is_no_room(sent)) return {.no_room = true};
    if (sent < 0) return {.error = static_cast<int>(sent)};
    const auto taken = static_cast<std::uint64_t>(sent);
    queue.consume(taken);
    return {.bytes = taken, .no_room = taken < offered};
}

DirectSend send_memory(Kernel& kernel, int fd, SendQueue& queue, std::span<const iovec> pieces) {
    std::uint64_t offered = 0;
    for (const iovec& piece : pieces) offered += piece.iov_len;
    const bool more = queue.file_after(pieces.size());
    ssize_t sent = 0;
    do {
        // With `more` the kernel keeps the last, partly filled packet for the file that follows.
        sent = kernel.send(fd, pieces.data(), static_cast<int>(pieces.size()), more);
    } while (sent == -EINTR);
    return outcome(sent, offered, queue);
}

DirectSend send_file(Kernel& kernel, int fd, SendQueue& queue, std::size_t bytes_max) {
    const SendQueue::FileRange range = queue.front_file();
    auto offset = static_cast<off_t>(range.offset);
    // The share of a large download in a turn. Less than the range counts as "no room" below, so
    // the rest waits for the next turn, in which the socket is reported writable again: others come
    // in between.
    const std::uint64_t wanted = std::min<std::uint64_t>(range.bytes, bytes_max);
    ssize_t sent = 0;
    do {
        sent = kernel.send_file(fd, range.descriptor, &offset, wanted);
    } while (sent == -EINTR);
    // The promised length cannot be kept any more; only a broken connection shows it to the peer.
    if (sent == 0) return {.error = -EBADMSG};
    return outcome(sent, range.bytes, queue);
}

}  // namespace

static_assert(EWOULDBLOCK == EAGAIN);

bool is_no_room(std::int64_t error) {
    // Without memory in the kernel the connection is not broken: the bytes are still ours, and are
    // offered again once the socket is reported writable.
    return error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM;
}

DirectSend send_directly(Kernel& kernel, int fd, SendQueue& queue, std::size_t file_bytes_max) {
    iovec pieces[pieces_per_send];
    DirectSend total;
    while (!queue.empty()) {
        const std::size_t count = queue.gather(pieces);
        // Two calls: on Linux sendmsg() takes memory and sendfile() a file; none takes both.
        const DirectSend step = count == 0 ? send_file(kernel, fd, queue, file_bytes_max)
                                           : send_memory(kernel, fd, queue, {pieces, count});
        total.bytes += step.bytes;
        total.no_room = step.no_room;
        total.error = step.error;
        if (step.no_room || step.error != 0) break;
    }
    return total;
}

}  // namespace tiderace::core

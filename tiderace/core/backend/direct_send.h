// Sending by system call, at once. Every backend tries it first, because a socket that has room
// takes an answer in this call.
//
// Thread   The loop's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tiderace/core/kernel.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::core {

struct DirectSend {
    std::uint64_t bytes = 0;  // taken and consumed
    bool no_room = false;     // the rest waits until the socket is writable
    int error = 0;            // -errno; -EBADMSG: a queued file became shorter
};

// The socket is full, or the kernel has no memory now: the caller retries later.
bool is_no_room(std::int64_t error);

// Sends from the front of `queue` until it is empty or the socket is full. A file range goes in one
// call of up to `file_bytes_max`, then counts as full: so that one download does not hold the loop.
DirectSend send_directly(Kernel& kernel, int fd, SendQueue& queue, std::size_t file_bytes_max);

}  // namespace tiderace::core

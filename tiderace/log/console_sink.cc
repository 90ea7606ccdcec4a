#include "tiderace/log/console_sink.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace tiderace::log {

ConsoleSink::Written ConsoleSink::write(ByteView lines) {
    Written written;
    while (written.bytes < lines.size()) {
        pollfd watched{descriptor_, POLLOUT, 0};
        // For the trouble below: poll() sets no errno where there is just no room.
        if (::poll(&watched, 1, 0) == 0) errno = EAGAIN;
        // A closed or broken one goes on to write(), whose error says what is wrong.
        if ((watched.revents & (POLLOUT | POLLERR | POLLHUP | POLLNVAL)) == 0) {
            written.trouble = Error::last("write", "the console");
            written.room_at = descriptor_;
            return written;
        }
        // A pipe that is writable takes PIPE_BUF without blocking.
        const ByteView piece = lines.substr(written.bytes, PIPE_BUF);
        const ssize_t taken = ::write(descriptor_, piece.data(), piece.size());
        if (taken >= 0) {
            written.bytes += static_cast<std::size_t>(taken);
        } else if (errno != EINTR) {
            // Others share the descriptor: they may have filled the pipe, or made it non-blocking.
            if (errno == EAGAIN) written.room_at = descriptor_;
            written.trouble = Error::last("write", "the console");
            return written;
        }
    }
    return written;
}

}  // namespace tiderace::log

#include "server/file_or_pipe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include "tiderace/core/kernel.h"

namespace tiderace::server {
namespace {

constexpr Duration pipe_nap = 1ms;

}  // namespace

// Without O_NONBLOCK even the open of a pipe waits for its writer, which may never come.
Result<std::string> read_file_or_pipe(const std::string& path, std::size_t bytes_max,
                                      std::string_view operation, Duration pipe_wait_max) {
    const core::Descriptor file(core::system_kernel(),
                                ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (!file || ::fstat(file.get(), &status) != 0) return fail(Error::last(operation, path));
    if (S_ISDIR(status.st_mode)) return fail(Error(EISDIR, operation, path));
    std::string text;
    std::array<char, 16'384> piece;
    for (Duration silence{}; text.size() <= bytes_max;) {
        const ssize_t got = ::read(file.get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        // A pipe has no writer yet, or nothing of it.
        const bool is_silent = got < 0 ? errno == EAGAIN : text.empty() && S_ISFIFO(status.st_mode);
        if (got > 0) {
            text.append(piece.data(), static_cast<std::size_t>(got));
            silence = {};
        } else if (!is_silent) {
            if (got < 0) return fail(Error::last(operation, path));
            return text;
        } else if (silence >= pipe_wait_max) {
            return fail(Error(0, operation, path,
                              "it is a pipe into which nothing was written for " +
                                  format_duration(pipe_wait_max)));
        } else {
            std::this_thread::sleep_for(pipe_nap);
            silence += pipe_nap;
        }
    }
    return fail(Error(0, operation, path, "larger than " + format_bytes(bytes_max)));
}

}  // namespace tiderace::server

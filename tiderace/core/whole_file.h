// Internal. A whole file, read or written at once.
//
// Thread   Any; blocks on the disk, so not on the path of a request.
// Errors   The system's; what is no plain file, because a FIFO or a device could block the thread
//          or never end; a file that is longer than its limit.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/base/result.h"
#include "tiderace/core/kernel.h"

namespace tiderace::core {

// From where the descriptor is to the end, appended. 0, or an errno value; EFBIG: it is longer than
// `bytes_max`, and `text` holds a part of it that is longer, too.
template <typename Text>
int read_whole(int fd, Text& text, std::size_t bytes_max) {
    constexpr std::size_t block_bytes = 16'384;
    for (;;) {
        ssize_t got = 0;
        const std::size_t before = text.size();
        // Not by way of a buffer on the stack, which would not be wiped of a key.
        text.resize_and_overwrite(before + block_bytes, [&](char* data, std::size_t) {
            got = ::read(fd, data + before, block_bytes);
            return before + static_cast<std::size_t>(std::max<ssize_t>(got, 0));
        });
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got == 0 ? 0 : errno;
        // Counted while reading, because the file may grow after a look at its size.
        if (text.size() > bytes_max) return EFBIG;
    }
}

// `operation` begins the error. A `file` that is not open fails with errno.
template <typename Text = std::string>
Result<Text> read_file(const Descriptor& file, std::string_view path, std::size_t bytes_max,
                       std::string_view operation = "read") {
    struct stat status{};
    if (!file || ::fstat(file.get(), &status) != 0) return fail(Error::last(operation, path));
    if (!S_ISREG(status.st_mode)) {
        return fail(
            Error(0, operation, path, "expected a file, found something else of that name"));
    }
    Text text;
    const int code = read_whole(file.get(), text, bytes_max);
    if (code == 0) return text;
    if (code != EFBIG) return fail(Error(code, operation, path));
    return fail(Error(0, operation, path,
                      "the file is longer than " + std::to_string(bytes_max) + " bytes"));
}
inline Result<std::string> read_file(const std::string& path, std::size_t bytes_max,
                                     std::string_view operation = "read") {
    // Non-blocking, so that a FIFO without a writer does not hang us.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return read_file(Descriptor(system_kernel(), fd), path, bytes_max, operation);
}

// A text that changes when the file is replaced or written. Not for display.
inline std::string look_of(const struct stat& status) {
#if defined(__APPLE__)
    const timespec& written = status.st_mtimespec;
    const timespec& changed = status.st_ctimespec;
#else
    const timespec& written = status.st_mtim;
    const timespec& changed = status.st_ctim;
#endif
    std::string look;
    for (const auto number :
         {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
          static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(written.tv_sec),
          static_cast<std::uint64_t>(written.tv_nsec),
          // `cp -p` and `rsync --inplace` set the other time back.
          static_cast<std::uint64_t>(changed.tv_sec),
          static_cast<std::uint64_t>(changed.tv_nsec)}) {
        look += std::to_string(number) + ',';
    }
    return look + ';';
}

// False: errno says why.
inline bool write_whole(int fd, ByteView bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(fd, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
}

}  // namespace tiderace::core

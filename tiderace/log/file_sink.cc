#include "tiderace/log/file_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace tiderace::log {

// The place in the file, which decides whether it may be rotated, and what of a batch is ours:
//
//   line's start --a write was short--> inside a line --its rest is written--> line's start
//   (may be rotated)                      |
//                                         | reopen() found another file
//                                         v
//                                       skipping --the rest is dropped--> line's start
//
// A half line at the end of the old file is better than the other half at the start of the new one.

Result<std::unique_ptr<FileSink>> FileSink::open(FileSinkOptions options) {
    std::unique_ptr<FileSink> sink(new FileSink(std::move(options)));
    if (Result<> opened = sink->reopen(); !opened) return fail(opened.error());
    return sink;
}

FileSink::~FileSink() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Result<> FileSink::reopen() {
    constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const int opened =
        options_.open ? options_.open(options_.path)
                      : ::open(options_.path.c_str(), flags, static_cast<mode_t>(options_.mode));
    // The old file stays in use, as Sink::reopen() has it.
    if (opened < 0) return fail(Error::last("open", options_.path));
    struct stat status{};
    struct stat before{};
    const bool known = ::fstat(opened, &status) == 0;
    const bool same = known && descriptor_ >= 0 && ::fstat(descriptor_, &before) == 0 &&
                      before.st_dev == status.st_dev && before.st_ino == status.st_ino;
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = opened;
    regular_ = known && S_ISREG(status.st_mode);
    size_bytes_ = known ? static_cast<std::uint64_t>(status.st_size) : 0;
    skip_line_ = inside_line_ && !same;
    return {};
}

std::string FileSink::old_path(unsigned number) const {
    return options_.path + '.' + std::to_string(number);
}

Result<> FileSink::rotate() {
    // Moved away already, by us when opening failed then: moving the old ones again would lose one.
    if (::access(options_.path.c_str(), F_OK) != 0) return reopen();
    // From the oldest, each into the place that the one before it has left.
    const unsigned files_kept = files_kept_.load(std::memory_order_relaxed);
    for (unsigned number = files_kept; number > 1; --number) {
        const std::string from = old_path(number - 1);
        if (std::rename(from.c_str(), old_path(number).c_str()) != 0 && errno != ENOENT) {
            return fail(Error::last("rotate", from));
        }
    }
    const int moved = files_kept == 0 ? ::unlink(options_.path.c_str())
                                      : std::rename(options_.path.c_str(), old_path(1).c_str());
    if (moved != 0 && errno != ENOENT) return fail(Error::last("rotate", options_.path));
    return reopen();
}

std::size_t FileSink::rest_of_cut_line(ByteView lines) const {
    return skip_line_ ? std::min(lines.find('\n'), lines.size() - 1) + 1 : 0;
}

void FileSink::set_rotation(std::uint64_t rotate_bytes, unsigned files_kept) {
    rotate_bytes_.store(rotate_bytes, std::memory_order_relaxed);
    files_kept_.store(files_kept, std::memory_order_relaxed);
}

FileSink::Written FileSink::write(ByteView lines) {
    Written written;
    written.bytes = rest_of_cut_line(lines);
    if (written.bytes != 0 && lines[written.bytes - 1] == '\n') skip_line_ = inside_line_ = false;
    // Not an empty one: batches larger than rotate_bytes would leave nothing but empty old files.
    const std::uint64_t rotate_bytes = rotate_bytes_.load(std::memory_order_relaxed);
    const bool too_large = size_bytes_ != 0 && size_bytes_ + lines.size() > rotate_bytes;
    if (rotate_bytes != 0 && regular_ && too_large && !inside_line_) {
        // The lines are written all the same, to the file that is open.
        if (Result<> rotated = rotate(); !rotated) written.trouble = rotated.error();
    }
    while (written.bytes < lines.size()) {
        const ByteView rest = lines.substr(written.bytes);
        const ssize_t taken = ::write(descriptor_, rest.data(), rest.size());
        if (taken < 0 && errno == EINTR) continue;
        if (taken <= 0) {
            if (errno == EAGAIN) written.room_at = descriptor_;  // a pipe
            written.trouble = Error::last("write", options_.path);
            break;
        }
        written.bytes += static_cast<std::size_t>(taken);
        size_bytes_ += static_cast<std::uint64_t>(taken);
        inside_line_ = lines[written.bytes - 1] != '\n';
    }
    return written;
}

}  // namespace tiderace::log

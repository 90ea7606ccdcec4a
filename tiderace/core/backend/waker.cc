#include "tiderace/core/backend/waker.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#if defined(__linux__)
#include <sys/eventfd.h>
#endif

#include "tiderace/base/check.h"

namespace tiderace::core {

Waker::Waker() {
#if defined(__linux__)
    read_fd_ = write_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    TR_CHECK(read_fd_ >= 0, "no descriptor left for a loop's eventfd");
#else
    int ends[2];
    TR_CHECK(::pipe(ends) == 0, "no descriptor left for a loop's pipe");
    for (const int fd : ends) {
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        ::fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    read_fd_ = ends[0];
    write_fd_ = ends[1];
#endif
}

Waker::~Waker() {
    ::close(read_fd_);
    if (write_fd_ != read_fd_) ::close(write_fd_);
}

void Waker::wake() {
    // A full pipe or counter means it is readable already, so a short write is as good as a whole
    // one.
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(write_fd_, &one, sizeof one);
}

void Waker::clear() {
    std::uint64_t sink[32];
    while (::read(read_fd_, sink, sizeof sink) == static_cast<ssize_t>(sizeof sink)) {
    }
}

}  // namespace tiderace::core

#include "tiderace/core/kernel.h"

#include <fcntl.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <string_view>

#include "tiderace/core/errno_result.h"

namespace tiderace::core {
namespace {

// An absolute path, or one with a "..": only a link may lead out of the root, and only if allowed.
bool goes_up(std::string_view path) {
    if (path.starts_with('/')) return true;
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        if (path.substr(at, end - at) == "..") return true;
        at = end + 1;
    }
    return false;
}

// In a process with threads, glibc's recv() and send() make two atomic operations each, so that a
// thread can be cancelled in them. No thread of ours is, so Linux is called by number. A sanitizer
// knows the C library's functions alone.
#if defined(SYS_recvfrom) && defined(SYS_sendto) && !defined(TIDERACE_SANITIZED)
ssize_t receive_bytes(int fd, void* buffer, std::size_t bytes) {
    return ::syscall(SYS_recvfrom, fd, buffer, bytes, 0, nullptr, nullptr);
}
ssize_t send_bytes(int fd, const void* buffer, std::size_t bytes, int flags) {
    return ::syscall(SYS_sendto, fd, buffer, bytes, flags, nullptr, 0);
}
#else
ssize_t receive_bytes(int fd, void* buffer, std::size_t bytes) {
    return ::recv(fd, buffer, bytes, 0);
}
ssize_t send_bytes(int fd, const void* buffer, std::size_t bytes, int flags) {
    return ::send(fd, buffer, bytes, flags);
}
#endif

}  // namespace

int SystemKernel::bind(int fd, const sockaddr* address, socklen_t bytes) {
    return or_errno(::bind(fd, address, bytes));
}

int SystemKernel::listen(int fd, int backlog) {
    return or_errno(::listen(fd, backlog));
}

int SystemKernel::connect(int fd, const sockaddr* address, socklen_t bytes) {
    return or_errno(::connect(fd, address, bytes));
}

int SystemKernel::local_address(int fd, sockaddr* address, socklen_t* bytes) {
    return or_errno(::getsockname(fd, address, bytes));
}

int SystemKernel::set_option(int fd, int level, int name, const void* value, socklen_t bytes) {
    return or_errno(::setsockopt(fd, level, name, value, bytes));
}

int SystemKernel::get_option(int fd, int level, int name, void* value, socklen_t* bytes) {
    return or_errno(::getsockopt(fd, level, name, value, bytes));
}

// Every socket is non-blocking, so no flag is needed for that.
ssize_t SystemKernel::receive(int fd, void* buffer, std::size_t bytes) {
    return or_errno(receive_bytes(fd, buffer, bytes));
}

ssize_t SystemKernel::send_pieces(int fd, const iovec* pieces, int count, int flags) {
    // One piece is the common case, and send() saves the kernel the copy of a message header.
    if (count == 1) return or_errno(send_bytes(fd, pieces[0].iov_base, pieces[0].iov_len, flags));
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces);
    message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count);
    return or_errno(::sendmsg(fd, &message, flags));
}

int SystemKernel::shut_down(int fd, int how) {
    return or_errno(::shutdown(fd, how));
}

int SystemKernel::close(int fd) {
    return or_errno(::close(fd));
}

int SystemKernel::open_beneath(int directory, const char* path, int flags, Links links) {
    // A FIFO must not block the loop, nor a terminal become ours.
    flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    // The kernel, or our walk, checks each step of the path.
    if (links != Links::anywhere) return open_inside(directory, path, flags, links);
    // Links may lead anywhere here, so only the path itself is checked: a request must not choose a
    // parent.
    return goes_up(path) ? -EXDEV : or_errno(::openat(directory, path, flags));
}

int SystemKernel::file_status(int fd, struct stat* status) {
    return or_errno(::fstat(fd, status));
}

ssize_t SystemKernel::read_at(int fd, void* buffer, std::size_t bytes, off_t offset) {
    return or_errno(::pread(fd, buffer, bytes, offset));
}

// The link's own facts: its target may lie outside the root.
int SystemKernel::entry_status(int directory, const char* name, struct stat* status) {
    return or_errno(::fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW));
}

Kernel& system_kernel() {
    // Never destroyed: a Descriptor in an object that lives until the end closes through it.
    static SystemKernel& kernel = *new SystemKernel;
    return kernel;
}

}  // namespace tiderace::core

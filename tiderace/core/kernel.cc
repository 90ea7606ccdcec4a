#include "tiderace/core/kernel.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#if defined(__linux__)
#include <linux/openat2.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#endif

namespace tiderace::core {
namespace {

template <typename T>
T or_errno(T result) {
    return result < 0 ? -static_cast<T>(errno) : result;
}

#if !defined(__linux__)
int make_nonblocking(int fd) {
    if (fd < 0) return -errno;
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
#if defined(SO_NOSIGPIPE)
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return fd;
}
#endif

// An absolute path, or one with a "..": only a link may lead out, and only where that is allowed.
bool goes_up(std::string_view path) {
    if (path.starts_with('/')) return true;
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        if (path.substr(at, end - at) == "..") return true;
        at = end + 1;
    }
    return false;
}

// Without openat2: walks the components, following no link at all. Stricter than RESOLVE_BENEATH,
// which allows links that stay inside, and never laxer.
int open_without_links(int directory, const char* path, int flags) {
    std::string component;
    int at = ::dup(directory);
    if (at < 0) return -errno;
    for (const char* rest = path;;) {
        const char* end = rest;
        while (*end != '\0' && *end != '/') ++end;
        component.assign(rest, end);
        const bool last = *end == '\0';
        if (component == "..") {
            ::close(at);
            return -EXDEV;
        }
        const int how = last ? flags : O_RDONLY | O_DIRECTORY;
        const int next = ::openat(at, component.empty() ? "." : component.c_str(),
                                  how | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
        const int fault = errno;
        ::close(at);
        if (next < 0) return -fault;
        if (last) return next;
        at = next;
        rest = end + 1;
    }
}

}  // namespace

int SystemKernel::open_socket(int family, int type, int protocol) {
#if defined(__linux__)
    return or_errno(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
#else
    return make_nonblocking(::socket(family, type, protocol));
#endif
}

int SystemKernel::bind(int fd, const sockaddr* address, socklen_t bytes) {
    return or_errno(::bind(fd, address, bytes));
}

int SystemKernel::listen(int fd, int backlog) {
    return or_errno(::listen(fd, backlog));
}

int SystemKernel::accept(int fd, sockaddr* peer, socklen_t* bytes) {
#if defined(__linux__)
    return or_errno(::accept4(fd, peer, bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
#else
    return make_nonblocking(::accept(fd, peer, bytes));
#endif
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

ssize_t SystemKernel::receive(int fd, void* buffer, std::size_t bytes) {
    return or_errno(::recv(fd, buffer, bytes, 0));
}

ssize_t SystemKernel::send(int fd, const iovec* pieces, int count, bool more) {
#if defined(MSG_MORE)
    const int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
#elif defined(MSG_NOSIGNAL)
    const int flags = MSG_NOSIGNAL;
    static_cast<void>(more);
#else
    const int flags = 0;  // SO_NOSIGPIPE was set when the socket was made
    static_cast<void>(more);
#endif
    // One piece is the common case, and send() spares the kernel the copy of the message header.
    if (count == 1) return or_errno(::send(fd, pieces[0].iov_base, pieces[0].iov_len, flags));
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces);
    message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count);
    return or_errno(::sendmsg(fd, &message, flags));
}

ssize_t SystemKernel::send_file(int fd, int file, off_t* offset, std::size_t bytes) {
#if defined(__linux__)
    return or_errno(::sendfile(fd, file, offset, bytes));
#else
    char buffer[64 * 1024];
    const ssize_t got =
        ::pread(file, buffer, bytes < sizeof buffer ? bytes : sizeof buffer, *offset);
    if (got <= 0) return got < 0 ? -errno : 0;
    const ssize_t sent = ::send(fd, buffer, static_cast<std::size_t>(got), 0);
    if (sent > 0) *offset += sent;
    return or_errno(sent);
#endif
}

int SystemKernel::shut_down(int fd, int how) {
    return or_errno(::shutdown(fd, how));
}

int SystemKernel::close(int fd) {
    return or_errno(::close(fd));
}

int SystemKernel::open_beneath(int directory, const char* path, int flags, Links links) {
    if (links == Links::anywhere) {
        const int more = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
        return goes_up(path) ? -EXDEV : or_errno(::openat(directory, path, flags | more));
    }
#if defined(__linux__)
    open_how how{};
    how.flags = static_cast<__u64>(flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (links == Links::never) how.resolve |= RESOLVE_NO_SYMLINKS;
    const long fd = ::syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    // EPERM is how a seccomp filter of a container answers for a call it does not know.
    if (errno != ENOSYS && errno != EPERM) return -errno;
#endif
    return open_without_links(directory, path, flags | O_NONBLOCK);
}

int SystemKernel::file_status(int fd, struct stat* status) {
    return or_errno(::fstat(fd, status));
}

ssize_t SystemKernel::read_at(int fd, void* buffer, std::size_t bytes, off_t offset) {
    return or_errno(::pread(fd, buffer, bytes, offset));
}

ssize_t SystemKernel::read_now(int fd, void* buffer, std::size_t bytes, off_t offset) {
#if defined(__linux__) && defined(RWF_NOWAIT)
    const iovec piece{buffer, bytes};
    const ssize_t got = ::preadv2(fd, &piece, 1, offset, RWF_NOWAIT);
    if (got >= 0) return got;
    // Kernels that do not know the flag, or the call, say so in one of these ways.
    const bool unknown = errno == ENOSYS || errno == EINVAL || errno == EPERM;
    return unknown ? -EOPNOTSUPP : -errno;
#else
    static_cast<void>(fd), static_cast<void>(buffer), static_cast<void>(bytes);
    static_cast<void>(offset);
    return -EOPNOTSUPP;
#endif
}

int SystemKernel::entry_status(int directory, const char* name, struct stat* status) {
    return or_errno(::fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW));
}

ssize_t SystemKernel::read_directory(int directory, void* buffer, std::size_t bytes) {
#if defined(__linux__)
    return or_errno(static_cast<ssize_t>(::syscall(SYS_getdents64, directory, buffer, bytes)));
#else
    static_cast<void>(directory), static_cast<void>(buffer), static_cast<void>(bytes);
    return -ENOSYS;
#endif
}

Kernel& system_kernel() {
    static SystemKernel kernel;
    return kernel;
}

}  // namespace tiderace::core

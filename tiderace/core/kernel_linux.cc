// The calls for which Linux differs from other systems.
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tiderace/core/beneath_walk.h"
#include "tiderace/core/errno_result.h"
#include "tiderace/core/kernel.h"

namespace tiderace::core {

int SystemKernel::open_socket(int family, int type, int protocol) {
    return or_errno(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}

int SystemKernel::accept(int fd, sockaddr* peer, socklen_t* bytes) {
    return or_errno(::accept4(fd, peer, bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

ssize_t SystemKernel::send(int fd, const iovec* pieces, int count, bool more) {
    return send_pieces(fd, pieces, count, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
}

ssize_t SystemKernel::send_file(int fd, int file, off_t* offset, std::size_t bytes) {
    return or_errno(::sendfile(fd, file, offset, bytes));
}

std::uint64_t SystemKernel::unacknowledged_bytes(int fd) {
    int bytes = 0;
    return ::ioctl(fd, SIOCOUTQ, &bytes) == 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

int SystemKernel::open_inside(int directory, const char* path, int flags, Links links) {
    open_how how{};
    how.flags = static_cast<__u64>(flags);
    // Magic links (/proc/PID/fd) jump anywhere, without a path that could be checked.
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (links == Links::never) how.resolve |= RESOLVE_NO_SYMLINKS;
    // By its number: the C library has no function for it.
    const long fd = ::syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    // EPERM comes from a container's seccomp filter that does not know the call. EAGAIN reports a
    // rename anywhere on the system during a "..", for which the kernel cannot vouch; our walk can.
    if (errno != ENOSYS && errno != EPERM && errno != EAGAIN) return -errno;
    return open_by_walking(directory, path, flags, links);
}

ssize_t SystemKernel::read_now(int fd, void* buffer, std::size_t bytes, off_t offset) {
    const iovec piece{buffer, bytes};
    // RWF_NOWAIT: EAGAIN instead of waiting for the disk. It is why a loop may read a file by
    // itself.
    const ssize_t got = ::preadv2(fd, &piece, 1, offset, RWF_NOWAIT);
    if (got >= 0) return got;
    // Kernels that do not know the flag, or the call, report it in one of these ways.
    const bool unknown = errno == ENOSYS || errno == EINVAL || errno == EPERM;
    return unknown ? -EOPNOTSUPP : -errno;
}

ssize_t SystemKernel::read_directory(int directory, void* buffer, std::size_t bytes) {
    return or_errno(static_cast<ssize_t>(::syscall(SYS_getdents64, directory, buffer, bytes)));
}

}  // namespace tiderace::core

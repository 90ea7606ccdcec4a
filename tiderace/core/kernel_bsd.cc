// The calls for which FreeBSD, NetBSD and OpenBSD differ from other systems.
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/filio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "tiderace/core/beneath_walk.h"
#include "tiderace/core/directory_records.h"
#include "tiderace/core/errno_result.h"
#include "tiderace/core/kernel.h"

namespace tiderace::core {

int SystemKernel::open_socket(int family, int type, int protocol) {
    return or_errno(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}

int SystemKernel::accept(int fd, sockaddr* peer, socklen_t* bytes) {
    return or_errno(::accept4(fd, peer, bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

// There is no MSG_MORE: a head and the file after it may leave as two packets.
ssize_t SystemKernel::send(int fd, const iovec* pieces, int count, bool) {
    return send_pieces(fd, pieces, count, MSG_NOSIGNAL);
}

ssize_t SystemKernel::send_file(int fd, int file, off_t* offset, std::size_t bytes) {
#if defined(__FreeBSD__)
    if (bytes == 0) return 0;  // 0 would mean the whole file
    off_t sent = 0;
    const int outcome = ::sendfile(file, fd, *offset, bytes, nullptr, &sent, 0);
    // EAGAIN with some bytes sent is a short send, not a failure.
    if (outcome < 0 && sent == 0) return -errno;
    *offset += sent;
    return static_cast<ssize_t>(sent);
#else
    // No sendfile() here. The offset moves by the sent bytes only, so the others are read again.
    char piece[32 * 1024];
    const ssize_t got = ::pread(file, piece, std::min(bytes, sizeof piece), *offset);
    if (got <= 0) return or_errno(got);
    const ssize_t sent = ::send(fd, piece, static_cast<std::size_t>(got), MSG_NOSIGNAL);
    if (sent > 0) *offset += sent;
    return or_errno(sent);
#endif
}

std::uint64_t SystemKernel::unacknowledged_bytes(int fd) {
#if defined(FIONWRITE)
    int bytes = 0;
    return ::ioctl(fd, FIONWRITE, &bytes) == 0 ? static_cast<std::uint64_t>(bytes) : 0;
#else
    return static_cast<void>(fd), 0;  // OpenBSD
#endif
}

int SystemKernel::open_inside(int directory, const char* path, int flags, Links links) {
    return open_by_walking(directory, path, flags, links);
}

ssize_t SystemKernel::read_now(int, void*, std::size_t, off_t) {
    return -EOPNOTSUPP;
}

ssize_t SystemKernel::read_directory(int directory, void* buffer, std::size_t bytes) {
    alignas(dirent) char found[16 * 1024];
    DirectoryRecords records(buffer, bytes);
    while (records.bytes() == 0) {  // a buffer may hold deleted entries only
        // Half of the room, because our records may be longer than the system's.
        const ssize_t got = ::getdents(directory, found, std::min(bytes / 2, sizeof found));
        if (got <= 0) return or_errno(got);
        for (ssize_t at = 0; at < got;) {
            const auto* entry = reinterpret_cast<const dirent*>(found + at);
            if (entry->d_fileno != 0) records.append(entry->d_name, entry->d_type);
            at += entry->d_reclen;
        }
    }
    return static_cast<ssize_t>(records.bytes());
}

}  // namespace tiderace::core

// The calls for which macOS differs from other systems.
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/attr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tiderace/core/beneath_walk.h"
#include "tiderace/core/directory_records.h"
#include "tiderace/core/errno_result.h"
#include "tiderace/core/kernel.h"

namespace tiderace::core {
namespace {

// Sockets are made without flags here, so a child started between two calls inherits one.
int prepare(int fd) {
    if (fd < 0) return -errno;
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    // Instead of MSG_NOSIGNAL. It fails if the peer has gone already; then the option inherited
    // from the listener, and the program's ignored SIGPIPE, protect us.
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    return fd;
}

// ATTR_CMN_OBJTYPE, as <sys/vnode.h> numbers it.
enum class ObjectType : fsobj_type_t { unknown = 0, file = 1, directory = 2, link = 5 };

std::uint8_t directory_type(fsobj_type_t type) {
    switch (static_cast<ObjectType>(type)) {
        case ObjectType::file:
            return DT_REG;
        case ObjectType::directory:
            return DT_DIR;
        case ObjectType::link:
            return DT_LNK;
        case ObjectType::unknown:
            return DT_UNKNOWN;
        default:
            return DT_FIFO;  // or a device: nothing that is served
    }
}

template <typename T>
T take(const char*& at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
}

// One entry of getattrlistbulk: length, what is returned, a reference to the name, the type.
void append_entry(DirectoryRecords& records, const char* entry) {
    const char* at = entry + sizeof(std::uint32_t);
    const auto returned = take<attribute_set_t>(at);
    if ((returned.commonattr & ATTR_CMN_NAME) == 0) return;
    const char* const reference = at;
    const auto name = take<attrreference_t>(at);
    fsobj_type_t type = 0;
    if ((returned.commonattr & ATTR_CMN_OBJTYPE) != 0) type = take<fsobj_type_t>(at);
    records.append(reference + name.attr_dataoffset, directory_type(type));
}

}  // namespace

int SystemKernel::open_socket(int family, int type, int protocol) {
    return prepare(::socket(family, type, protocol));
}

int SystemKernel::accept(int fd, sockaddr* peer, socklen_t* bytes) {
    return prepare(::accept(fd, peer, bytes));
}

// There is no MSG_MORE: a head and the file after it may leave as two packets.
ssize_t SystemKernel::send(int fd, const iovec* pieces, int count, bool) {
    return send_pieces(fd, pieces, count, 0);
}

ssize_t SystemKernel::send_file(int fd, int file, off_t* offset, std::size_t bytes) {
    auto length = static_cast<off_t>(bytes);
    if (length == 0) return 0;  // 0 would mean the whole file
    const int outcome = ::sendfile(file, fd, *offset, &length, nullptr, 0);
    // Only then does `length` hold the bytes sent before the failure.
    const bool some = outcome == 0 || ((errno == EAGAIN || errno == EINTR) && length > 0);
    if (!some) return -errno;
    *offset += length;
    return static_cast<ssize_t>(length);
}

std::uint64_t SystemKernel::unacknowledged_bytes(int fd) {
    int bytes = 0;
    socklen_t size = sizeof bytes;
    const int outcome = ::getsockopt(fd, SOL_SOCKET, SO_NWRITE, &bytes, &size);
    return outcome == 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

int SystemKernel::open_inside(int directory, const char* path, int flags, Links links) {
    return open_by_walking(directory, path, flags, links);
}

ssize_t SystemKernel::read_now(int, void*, std::size_t, off_t) {
    return -EOPNOTSUPP;
}

ssize_t SystemKernel::read_directory(int directory, void* buffer, std::size_t bytes) {
    attrlist wanted{};
    wanted.bitmapcount = ATTR_BIT_MAP_COUNT;
    wanted.commonattr = ATTR_CMN_RETURNED_ATTRS | ATTR_CMN_NAME | ATTR_CMN_OBJTYPE;
    alignas(8) char found[16 * 1024];
    DirectoryRecords records(buffer, bytes);
    while (records.bytes() == 0) {
        const int count = ::getattrlistbulk(directory, &wanted, found,
                                            std::min(bytes / 2, sizeof found), FSOPT_NOFOLLOW);
        if (count <= 0) return or_errno(count);
        const char* entry = found;
        for (int i = 0; i < count; ++i) {
            append_entry(records, entry);
            const char* at = entry;
            entry += take<std::uint32_t>(at);
        }
    }
    return static_cast<ssize_t>(records.bytes());
}

}  // namespace tiderace::core

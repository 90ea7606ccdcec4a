// Internal. Kernel: the system calls of the data path, one virtual function each, so that a test
// can be the kernel.
//
// Everything above calls this object and never the libc, so a test can make any single call fail,
// come up short or be interrupted, and can replace the network altogether (testing/fake/network.h).
//
// Thread   Any; the real one has no state.
// Errors   As the system calls themselves, except that a failure is returned as -errno.
// Cost     A virtual call, about 2 ns beside the 200 ns or more of the system call.
// Keywords: system call, syscall, sendfile, writev, openat2
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tiderace/base/units.h"

namespace tiderace::core {

// Which symbolic links open_beneath follows.
enum class Links : std::uint8_t {
    inside,    // links that stay beneath the directory
    never,     // none: the path has to be without
    anywhere,  // all of them, wherever they lead
};

class Kernel {
  public:
    virtual ~Kernel() = default;

    // Sockets. New descriptors are non-blocking and close-on-exec.
    virtual int open_socket(int family, int type, int protocol) = 0;
    virtual int bind(int fd, const sockaddr* address, socklen_t bytes) = 0;
    virtual int listen(int fd, int backlog) = 0;
    virtual int accept(int fd, sockaddr* peer, socklen_t* bytes) = 0;
    virtual int connect(int fd, const sockaddr* address, socklen_t bytes) = 0;
    virtual int local_address(int fd, sockaddr* address, socklen_t* bytes) = 0;
    virtual int set_option(int fd, int level, int name, const void* value, socklen_t bytes) = 0;
    virtual int get_option(int fd, int level, int name, void* value, socklen_t* bytes) = 0;
    virtual ssize_t receive(int fd, void* buffer, std::size_t bytes) = 0;
    // Never raises SIGPIPE. `more`: hold back a partial packet, because the next call follows at
    // once (MSG_MORE).
    virtual ssize_t send(int fd, const iovec* pieces, int count, bool more) = 0;
    // Advances *offset by the bytes sent.
    virtual ssize_t send_file(int fd, int file, off_t* offset, std::size_t bytes) = 0;
    // Bytes that were sent and that the peer's system has not acknowledged; of a Unix socket, about
    // what the peer has not read. 0 where the system does not report it.
    virtual std::uint64_t unacknowledged_bytes(int fd) = 0;
    virtual int shut_down(int fd, int how) = 0;
    virtual int close(int fd) = 0;

    // Files. `path` is relative and never leaves `directory` through `..`, and through a symbolic
    // link only if `links` allows it (openat2 with RESOLVE_BENEATH; where that is missing,
    // beneath_walk.h).
    virtual int open_beneath(int directory, const char* path, int flags, Links links) = 0;
    virtual int file_status(int fd, struct stat* status) = 0;
    virtual ssize_t read_at(int fd, void* buffer, std::size_t bytes, off_t offset) = 0;
    // As read_at, but only bytes in memory: -EAGAIN if it would wait for the disk, -EOPNOTSUPP if
    // the system cannot tell (RWF_NOWAIT). A fake disk never waits.
    virtual ssize_t read_now(int fd, void* buffer, std::size_t bytes, off_t offset) {
        return read_at(fd, buffer, bytes, offset);
    }
    // The status of one name in `directory`; a symbolic link is not followed.
    virtual int entry_status(int directory, const char* name, struct stat* status) = 0;
    // The next entries as getdents64 lays them out (directory_records.h); 0 at the end.
    virtual ssize_t read_directory(int directory, void* buffer, std::size_t bytes) = 0;
};

// kernel.cc, and the calls for which systems differ: kernel_linux.cc, kernel_bsd.cc,
// kernel_macos.cc.
class SystemKernel : public Kernel {
  public:
    int open_socket(int family, int type, int protocol) override;
    int bind(int fd, const sockaddr* address, socklen_t bytes) override;
    int listen(int fd, int backlog) override;
    int accept(int fd, sockaddr* peer, socklen_t* bytes) override;
    int connect(int fd, const sockaddr* address, socklen_t bytes) override;
    int local_address(int fd, sockaddr* address, socklen_t* bytes) override;
    int set_option(int fd, int level, int name, const void* value, socklen_t bytes) override;
    int get_option(int fd, int level, int name, void* value, socklen_t* bytes) override;
    ssize_t receive(int fd, void* buffer, std::size_t bytes) override;
    ssize_t send(int fd, const iovec* pieces, int count, bool more) override;
    ssize_t send_file(int fd, int file, off_t* offset, std::size_t bytes) override;
    std::uint64_t unacknowledged_bytes(int fd) override;
    int shut_down(int fd, int how) override;
    int close(int fd) override;
    int open_beneath(int directory, const char* path, int flags, Links links) override;
    int file_status(int fd, struct stat* status) override;
    ssize_t read_at(int fd, void* buffer, std::size_t bytes, off_t offset) override;
    ssize_t read_now(int fd, void* buffer, std::size_t bytes, off_t offset) override;
    int entry_status(int directory, const char* name, struct stat* status) override;
    ssize_t read_directory(int directory, void* buffer, std::size_t bytes) override;

  private:
    static ssize_t send_pieces(int fd, const iovec* pieces, int count, int flags);
    // Not Links::anywhere.
    static int open_inside(int directory, const char* path, int flags, Links links);
};

// The real kernel.
Kernel& system_kernel();

// A descriptor with one owner, closed with it. -1: none.
class Descriptor {
  public:
    Descriptor() = default;
    Descriptor(Kernel& kernel, int fd) : kernel_(&kernel), fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : kernel_(other.kernel_), fd_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            reset();
            kernel_ = other.kernel_;
            fd_ = other.release();
        }
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release() {
        const int fd = fd_;
        fd_ = -1;
        return fd;
    }
    void reset() {
        if (fd_ >= 0) kernel_->close(release());
    }

  private:
    Kernel* kernel_ = nullptr;
    int fd_ = -1;
};

}  // namespace tiderace::core

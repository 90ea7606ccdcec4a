// ForwardingKernel: every call goes to the kernel below. A class that changes some calls derives
// from it and overrides these alone.
//
//   class Counting final : public core::ForwardingKernel {
//     public:
//       explicit Counting(core::Kernel& below) : ForwardingKernel(below) {}
//     private:
//       int before(core::KernelCall) override { return ++calls, 0; }      // -errno: it is not made
//   };
//
// Owner    The test or engine that replaces the kernel; the kernel below outlives it.
// Thread   As the kernel below.
// Errors   The kernel's below, and before()'s.
#pragma once

#include <cstdint>

#include "tiderace/core/kernel.h"

namespace tiderace::core {

enum class KernelCall : std::uint8_t {
    open_socket,
    bind,
    listen,
    accept,
    connect,
    local_address,
    set_option,
    get_option,
    receive,
    send,
    send_file,
    shut_down,
    close,
    open_beneath,
    file_status,
    read_at,  // and read_now
    entry_status,
    read_directory,
    count_
};

class ForwardingKernel : public Kernel {
  public:
    explicit ForwardingKernel(Kernel& below) : below_(&below) {}

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
    // Always made: it cannot fail.
    std::uint64_t unacknowledged_bytes(int fd) override { return below_->unacknowledged_bytes(fd); }
    int shut_down(int fd, int how) override;
    // Always made, because the descriptor is gone even where the real call fails.
    int close(int fd) override;
    int open_beneath(int directory, const char* path, int flags, Links links) override;
    int file_status(int fd, struct stat* status) override;
    ssize_t read_at(int fd, void* buffer, std::size_t bytes, off_t offset) override;
    ssize_t read_now(int fd, void* buffer, std::size_t bytes, off_t offset) override;
    int entry_status(int directory, const char* name, struct stat* status) override;
    ssize_t read_directory(int directory, void* buffer, std::size_t bytes) override;

  protected:
    // Before each call that is not overridden. Not 0: the call's result, and it is not made.
    virtual int before(KernelCall) { return 0; }
    Kernel& below() const { return *below_; }

  private:
    Kernel* below_;
};

}  // namespace tiderace::core

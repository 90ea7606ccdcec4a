// NotingKernel: the kernel below, and a word to a CallNotes about each call that moves bytes or
// connections: whether it took all there was.
//
//   receive, accept   EAGAIN, or fewer bytes than there was room for: no longer readable
//   send              EAGAIN, or fewer bytes taken than offered: no longer writable
//   send_file         EAGAIN only: a short count may be the file's
//
// An edge-triggered poller needs to know that, and core's readiness backend, which makes the calls,
// does not report it: level-triggered pollers have no use for it.
//
// Owner    The poller that it notifies; that and the kernel below outlive it.
// Thread   The loop's.
// Errors   The kernel's below, unchanged.
#pragma once

#include "tiderace/core/backend/forwarding_kernel.h"
#include "tiderace/core/interest.h"

namespace tiderace::lab::engine {

class CallNotes {
  public:
    // A call was made for `fd`, and it is no longer ready in the directions of `exhausted`.
    virtual void note_call(int fd, core::Interest exhausted) = 0;

  protected:
    ~CallNotes() = default;
};

class NotingKernel final : public core::ForwardingKernel {
  public:
    NotingKernel(core::Kernel& below, CallNotes& notes) : ForwardingKernel(below), notes_(&notes) {}

    int accept(int fd, sockaddr* peer, socklen_t* bytes) override;
    int connect(int fd, const sockaddr* address, socklen_t bytes) override;
    int get_option(int fd, int level, int name, void* value, socklen_t* bytes) override;
    ssize_t receive(int fd, void* buffer, std::size_t bytes) override;
    ssize_t send(int fd, const iovec* pieces, int count, bool more) override;
    ssize_t send_file(int fd, int file, off_t* offset, std::size_t bytes) override;

  private:
    CallNotes* notes_;
};

}  // namespace tiderace::lab::engine

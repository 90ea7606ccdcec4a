// Waker: a descriptor that any thread can make readable, to end a poller's wait.
//
// eventfd on Linux, a pipe elsewhere. Several wakes before a clear() count as one.
// Thread   wake() any; the rest the poller's.
// Keywords: eventfd
#pragma once

namespace tiderace::core {

class Waker {
  public:
    Waker();
    ~Waker();
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;

    int descriptor() const { return read_fd_; }
    void wake();
    void clear();

  private:
    int read_fd_ = -1;
    int write_fd_ = -1;
};

}  // namespace tiderace::core

// FaultKernel: the real kernel, except that one of its file calls fails, or something happens just
// before it.
//
//   kernel.fail_at(3, EIO);               the third file call from now fails
//   kernel.fail_first(16, EINTR);         the next sixteen fail
//   kernel.before(2, [&] { … });          before the second one, a file is replaced
//
// Counts the calls about files (open, status, read, directory); sockets pass through uncounted.
//
// Thread   Calls come from the loop and from the pool that reads for it; faults are set
//          while no call is in flight.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

#include "tiderace/core/kernel.h"

namespace tiderace::testing {

class FaultKernel final : public core::SystemKernel {
  public:
    void fail_at(std::size_t call, int error) {
        calls_ = 0;
        fail_first_ = fail_last_ = call;
        error_ = error;
    }
    void fail_first(std::size_t count, int error) {
        fail_at(1, error);
        fail_last_ = count;
    }
    void before(std::size_t call, std::function<void()> happens) {
        calls_ = 0;
        act_at_ = call;
        happens_ = std::move(happens);
    }
    // A read returns half of the requested bytes.
    void set_short_reads(bool on) { short_reads_ = on; }
    void reset() {
        calls_ = 0;
        fail_first_ = fail_last_ = act_at_ = 0;
        happens_ = nullptr;
    }
    std::size_t calls() const { return calls_; }
    // Opened and not closed yet, through this kernel.
    int open_files() const { return open_files_; }

    int open_beneath(int directory, const char* path, int flags, core::Links links) override {
        if (const int fault = enter()) return fault;
        const int fd = SystemKernel::open_beneath(directory, path, flags, links);
        open_files_ += fd >= 0;
        return fd;
    }
    int close(int fd) override {
        --open_files_;
        return SystemKernel::close(fd);
    }
    int file_status(int fd, struct stat* status) override {
        if (const int fault = enter()) return fault;
        return SystemKernel::file_status(fd, status);
    }
    ssize_t read_at(int fd, void* buffer, std::size_t bytes, off_t offset) override {
        if (const int fault = enter()) return fault;
        if (short_reads_ && bytes > 1) bytes /= 2;
        return SystemKernel::read_at(fd, buffer, bytes, offset);
    }
    ssize_t read_now(int fd, void* buffer, std::size_t bytes, off_t offset) override {
        return read_at(fd, buffer, bytes, offset);  // one call, whatever the file system can tell
    }
    int entry_status(int directory, const char* name, struct stat* status) override {
        if (const int fault = enter()) return fault;
        return SystemKernel::entry_status(directory, name, status);
    }
    ssize_t read_directory(int directory, void* buffer, std::size_t bytes) override {
        if (const int fault = enter()) return fault;
        return SystemKernel::read_directory(directory, buffer, bytes);
    }

  private:
    int enter() {
        const std::size_t call = ++calls_;
        if (call == act_at_) std::exchange(happens_, nullptr)();
        // What happened may have begun to count anew.
        const std::size_t counted = call == act_at_ ? calls_.load() : call;
        return counted >= fail_first_ && counted <= fail_last_ ? -error_ : 0;
    }

    std::atomic<std::size_t> calls_ = 0;
    std::size_t fail_first_ = 0;
    std::size_t fail_last_ = 0;
    std::size_t act_at_ = 0;
    int error_ = 0;
    std::atomic<int> open_files_ = 0;
    bool short_reads_ = false;
    std::function<void()> happens_;
};

}  // namespace tiderace::testing

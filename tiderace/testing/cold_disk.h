// ColdDisk: the real kernel, except that chosen files are not in the system's cache until a thread
// that may block has read them.
//
//   disk.make_cold(path);      read_now() says -EAGAIN from here on
//   disk.set_holding(true);    another thread's read_at() waits until set_holding(false)
//
// Thread   Any. The one that made it is the loop's: its own reads are counted, and never held up.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "tiderace/core/kernel.h"

namespace tiderace::testing {

class ColdDisk final : public core::SystemKernel {
  public:
    void make_cold(const std::string& path) {
        struct stat status{};
        ::stat(path.c_str(), &status);
        const std::lock_guard held(lock_);
        cold_.insert(status.st_ino);
    }
    // Each cold file is cached before this offset.
    void set_cold_from(off_t offset) {
        const std::lock_guard held(lock_);
        cold_from_ = offset;
    }
    void set_holding(bool on) {
        {
            const std::lock_guard held(lock_);
            holding_ = on;
        }
        released_.notify_all();
    }
    // The system cannot tell what it has cached.
    void set_telling(bool on) {
        const std::lock_guard held(lock_);
        telling_ = on;
    }
    // A cold file stays so: the system drops at once what it reads.
    void set_forgetting(bool on) {
        const std::lock_guard held(lock_);
        forgetting_ = on;
    }
    // Reads of cold files that the loop had to wait for, and that others did.
    int loop_waits() const { return count(loop_waits_); }
    int other_waits() const { return count(other_waits_); }
    // Bytes that others read, of whatever file.
    std::size_t other_bytes() const {
        const std::lock_guard held(lock_);
        return other_bytes_;
    }
    // Opened and not closed yet, through this kernel.
    std::size_t open_files() const {
        const std::lock_guard held(lock_);
        return open_.size();
    }

    int open_beneath(int directory, const char* path, int flags, core::Links links) override {
        const int fd = SystemKernel::open_beneath(directory, path, flags, links);
        const std::lock_guard held(lock_);
        if (fd >= 0) open_.insert(fd);
        return fd;
    }
    int close(int fd) override {
        const std::lock_guard held(lock_);
        open_.erase(fd);
        return SystemKernel::close(fd);
    }
    ssize_t read_now(int fd, void* buffer, std::size_t bytes, off_t offset) override {
        {
            const std::lock_guard held(lock_);
            if (!telling_) return -EOPNOTSUPP;
            const off_t end = offset + static_cast<off_t>(bytes);
            if (end > cold_from_ && cold_.contains(inode_of(fd))) return -EAGAIN;
        }
        return SystemKernel::read_at(fd, buffer, bytes, offset);
    }
    ssize_t read_at(int fd, void* buffer, std::size_t bytes, off_t offset) override {
        const bool on_loop = std::this_thread::get_id() == loop_;
        {
            std::unique_lock held(lock_);
            if (!on_loop) released_.wait(held, [this] { return !holding_; });
            const ino_t file = inode_of(fd);
            if (cold_.contains(file)) ++(on_loop ? loop_waits_ : other_waits_);
            if (!forgetting_) cold_.erase(file);
        }
        const ssize_t got = SystemKernel::read_at(fd, buffer, bytes, offset);
        if (!on_loop && got > 0) {
            const std::lock_guard held(lock_);
            other_bytes_ += static_cast<std::size_t>(got);
        }
        return got;
    }

  private:
    static ino_t inode_of(int fd) {
        struct stat status{};
        ::fstat(fd, &status);
        return status.st_ino;
    }
    int count(const int& counter) const {
        const std::lock_guard held(lock_);
        return counter;
    }

    const std::thread::id loop_ = std::this_thread::get_id();
    mutable std::mutex lock_;  // guards all below
    std::condition_variable released_;
    std::set<ino_t> cold_;
    std::set<int> open_;
    off_t cold_from_ = 0;
    bool holding_ = false;
    bool telling_ = true;
    bool forgetting_ = false;
    int loop_waits_ = 0;
    int other_waits_ = 0;
    std::size_t other_bytes_ = 0;
};

}  // namespace tiderace::testing

// Internal. FramePool: memory of coroutine frames, kept by size for the next one.
//
//   allocate(n) -> the free list of n's size class, or operator new above frame_bytes_max
//
// Frames of one program come in few sizes and die in the order of requests, so a free list serves
// nearly all of them without the allocator's work.
//
// Thread   Each thread has lists of its own. A frame may be freed on another thread, whose list it
//          joins: blocks have no home thread.
// Limits   kept_bytes_max for each thread; what exceeds it goes back to the allocator.
#pragma once

#include <cstddef>

#include "tiderace/base/units.h"

namespace tiderace::task {

class FramePool {
  public:
    static constexpr std::size_t class_bytes = 64;         // sizes are rounded up to it
    static constexpr std::size_t frame_bytes_max = 4_KiB;  // larger frames are not kept
    static constexpr std::size_t kept_bytes_max = 1_MiB;

    static void* allocate(std::size_t bytes);
    static void free(void* block, std::size_t bytes) noexcept;

    // Bytes that this thread keeps for later.
    static std::size_t kept_bytes();
};

// For a container whose memory is as short-lived as a frame.
template <typename T>
struct FrameAllocator {
    using value_type = T;

    FrameAllocator() = default;
    template <typename U>
    FrameAllocator(const FrameAllocator<U>&) noexcept {}

    T* allocate(std::size_t count) {
        return static_cast<T*>(FramePool::allocate(count * sizeof(T)));
    }
    void deallocate(T* block, std::size_t count) noexcept {
        FramePool::free(block, count * sizeof(T));
    }
    bool operator==(const FrameAllocator&) const = default;
};

}  // namespace tiderace::task

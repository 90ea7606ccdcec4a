#include "tiderace/task/frame_pool.h"

#include <array>
#include <new>

namespace tiderace::task {
namespace {

struct FreeBlock {
    FreeBlock* next;
};

// By size class, of one thread: no lock, and a frame that is made again soon finds memory that is
// still in the cache.
struct Lists {
    std::array<FreeBlock*, FramePool::frame_bytes_max / FramePool::class_bytes + 1> free{};
    std::size_t kept_bytes = 0;
    bool ended = false;

    ~Lists() {
        for (FreeBlock*& first : free) {
            while (first != nullptr) {
                FreeBlock* block = first;
                first = block->next;
                ::operator delete(block);
            }
        }
        // Frames that outlive the thread's lists (of static objects) bypass them.
        ended = true;
    }
};

thread_local Lists lists;

constexpr std::size_t class_of(std::size_t bytes) {
    return (bytes + FramePool::class_bytes - 1) / FramePool::class_bytes;
}

}  // namespace

// Sanitizers find a use after the frame's end only where each frame is an allocation of its own.
#ifdef TIDERACE_SANITIZED

void* FramePool::allocate(std::size_t bytes) {
    return ::operator new(bytes);
}
void FramePool::free(void* block, std::size_t) noexcept {
    ::operator delete(block);
}

#else

void* FramePool::allocate(std::size_t bytes) {
    const std::size_t index = class_of(bytes);
    if (index >= lists.free.size()) return ::operator new(bytes);
    FreeBlock*& first = lists.free[index];
    if (first == nullptr) return ::operator new(index * class_bytes);
    FreeBlock* block = first;
    first = block->next;
    lists.kept_bytes -= index * class_bytes;
    return block;
}

void FramePool::free(void* block, std::size_t bytes) noexcept {
    const std::size_t index = class_of(bytes);
    const std::size_t size = index * class_bytes;
    // A frame may end on another thread than it was made on; its block then serves that thread.
    if (index >= lists.free.size() || lists.ended || lists.kept_bytes + size > kept_bytes_max) {
        ::operator delete(block);
        return;
    }
    lists.free[index] = ::new (block) FreeBlock{lists.free[index]};
    lists.kept_bytes += size;
}

#endif

std::size_t FramePool::kept_bytes() {
    return lists.kept_bytes;
}

}  // namespace tiderace::task

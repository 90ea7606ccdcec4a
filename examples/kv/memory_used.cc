#include "examples/kv/memory_used.h"

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KV_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KV_SANITIZER
#endif

#if defined(KV_SANITIZER)
#include <sanitizer/allocator_interface.h>
#elif defined(__APPLE__)
#include <malloc/malloc.h>
#elif defined(__FreeBSD__)
#include <malloc_np.h>
#else
#include <malloc.h>
#endif

// A sanitizer has operators of its own, and counts.
#if defined(KV_SANITIZER)
namespace kv {

std::size_t memory_used() {
    return __sanitizer_get_current_allocated_bytes();
}

}  // namespace kv
#else
namespace {

std::atomic<std::size_t> bytes_used = 0;

std::size_t size_of(void* memory) {
#if defined(__APPLE__)
    return malloc_size(memory);
#else
    return malloc_usable_size(memory);
#endif
}

void* counted(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    // The size that the allocator gives, because the process takes that and not the requested one.
    bytes_used.fetch_add(size_of(memory), std::memory_order_relaxed);
    return memory;
}

void give_back(void* memory) noexcept {
    if (memory == nullptr) return;
    bytes_used.fetch_sub(size_of(memory), std::memory_order_relaxed);
    std::free(memory);
}

}  // namespace

namespace kv {

std::size_t memory_used() {
    return bytes_used.load(std::memory_order_relaxed);
}

}  // namespace kv

// The other forms of the standard library call these.
void* operator new(std::size_t bytes) {
    return counted(std::malloc(bytes != 0 ? bytes : 1));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    const auto unit = static_cast<std::size_t>(alignment);
    // aligned_alloc() wants a multiple of the alignment (C11).
    return counted(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    give_back(memory);
}
#endif

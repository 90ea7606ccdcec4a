#include "tiderace/testing/scarce_memory.h"

#include <cstdlib>
#include <new>
#ifdef __linux__
#include <malloc.h>
#endif

namespace tiderace::testing {
namespace {

// Per thread: a pool's threads allocate at any time, and the nth would differ from run to run.
// Only the nth fails, since the handling of the failure may allocate as well.
thread_local std::uint64_t left = 0;  // 0: nothing is to fail
thread_local bool has_failed = false;

[[maybe_unused]] void* allocate(std::size_t bytes) noexcept {
    if (left > 0 && --left == 0) {
        has_failed = true;
        return nullptr;
    }
    // malloc(0) may give null, which here is a failure.
    return std::malloc(bytes > 0 ? bytes : 1);
}

thread_local std::string_view sought;  // empty: nothing is
thread_local int times_found = 0;

[[maybe_unused]] void release(void* memory) noexcept {
#ifdef __linux__
    if (!sought.empty() && memory != nullptr) {
        const std::string_view block(static_cast<const char*>(memory), malloc_usable_size(memory));
        times_found += block.find(sought) != std::string_view::npos ? 1 : 0;
    }
#endif
    std::free(memory);
}

}  // namespace

ScarceMemory::ScarceMemory(std::uint64_t nth) {
    left = nth;
    has_failed = false;
}

ScarceMemory::~ScarceMemory() {
    left = 0;
}

bool ScarceMemory::failed() const {
    return has_failed;
}

FreedMemory::FreedMemory(std::string_view text) {
    sought = text;
    times_found = 0;
}

FreedMemory::~FreedMemory() {
    sought = {};
}

int FreedMemory::found() const {
    return times_found;
}

}  // namespace tiderace::testing

#if TR_MEMORY_MAY_BE_SCARCE
// All that are not aligned, or a sanitizer would free with one what was allocated with another.
void* operator new(std::size_t bytes) {
    if (void* memory = tiderace::testing::allocate(bytes)) return memory;
    throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) {
    return operator new(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return tiderace::testing::allocate(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return tiderace::testing::allocate(bytes);
}
void operator delete(void* memory) noexcept {
    tiderace::testing::release(memory);
}
void operator delete[](void* memory) noexcept {
    tiderace::testing::release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    tiderace::testing::release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    tiderace::testing::release(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
    tiderace::testing::release(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
    tiderace::testing::release(memory);
}
#endif

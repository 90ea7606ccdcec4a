// Internal. SecretText: a string whose memory is wiped before it is freed, when it grows and when
// it ends: for the text of a private key. Up to 15 bytes, which no key has, it holds inside itself,
// unwiped.
//
// Thread   As a std::string's.
// Errors   As a std::string's.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "tiderace/base/language.h"

namespace tiderace {

template <typename T>
struct WipingAllocator {
    using value_type = T;

    WipingAllocator() = default;
    template <typename U>
    explicit(false) WipingAllocator(const WipingAllocator<U>&) {}  // as containers need it

    T* allocate(std::size_t count) { return std::allocator<T>().allocate(count); }
    void deallocate(T* memory, std::size_t count) {
        std::memset(memory, 0, count * sizeof(T));
        // Or the compiler would drop a write to memory that is not read any more.
        asm volatile("" : : "r"(memory) : "memory");
        std::allocator<T>().deallocate(memory, count);
    }
    friend bool operator==(const WipingAllocator&, const WipingAllocator&) { return true; }
};

using SecretText = std::basic_string<char, std::char_traits<char>, WipingAllocator<char>>;

}  // namespace tiderace

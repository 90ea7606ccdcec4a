// ScarceMemory: while one lives, the nth allocation of its thread fails with std::bad_alloc.
//
//   fail_each([&](std::uint64_t nth) {          fail_nth.h
//       testing::ScarceMemory scarce(nth);
//       loop.turn(Duration::zero());
//       return scarce.failed();
//   });
//
// FreedMemory: while one lives, counts the blocks that its thread frees with a text still in them,
// such as a private key's.
//
// A program that uses one has an operator new of this file's; aligned allocations are not counted.
//
// Owner    The test; one at a time in a thread.
// Thread   The one it was made in.
#pragma once

#include <cstdint>
#include <string_view>

#if defined(__SANITIZE_THREAD__)
#define TR_MEMORY_MAY_BE_SCARCE 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TR_MEMORY_MAY_BE_SCARCE 0
#endif
#endif
#ifndef TR_MEMORY_MAY_BE_SCARCE
#define TR_MEMORY_MAY_BE_SCARCE 1
#endif

namespace tiderace::testing {

class ScarceMemory {
  public:
    // False under ThreadSanitizer, whose operator new cannot be replaced: such a test is skipped.
    static constexpr bool works = TR_MEMORY_MAY_BE_SCARCE != 0;
    static constexpr const char* why_not = "ThreadSanitizer keeps its own operator new";

    explicit ScarceMemory(std::uint64_t nth);  // 1: the next one
    ~ScarceMemory();
    ScarceMemory(const ScarceMemory&) = delete;
    ScarceMemory& operator=(const ScarceMemory&) = delete;

    bool failed() const;
};

class FreedMemory {
  public:
    // Elsewhere no call returns a block's size: such a test is skipped.
#ifdef __linux__
    static constexpr bool works = ScarceMemory::works;
#else
    static constexpr bool works = false;
#endif
    static constexpr const char* why_not = "operator delete cannot look at what it frees here";

    explicit FreedMemory(std::string_view text);  // which outlives this
    ~FreedMemory();
    FreedMemory(const FreedMemory&) = delete;
    FreedMemory& operator=(const FreedMemory&) = delete;

    int found() const;
};

}  // namespace tiderace::testing

// Internal. LoopCount: a number that one thread writes with plain stores, and that any thread reads
// meanwhile: what a loop counts for a page of metrics.
//
// Thread   One writes; any reads.
#pragma once

#include <atomic>
#include <cstdint>

#include "tiderace/base/language.h"

namespace tiderace {

class LoopCount {
  public:
    LoopCount& operator=(std::uint64_t value) {
        value_.store(value, std::memory_order_relaxed);
        return *this;
    }
    // No other thread writes it, so a plain addition will do.
    LoopCount& operator+=(std::uint64_t n) { return *this = *this + n; }
    LoopCount& operator++() { return *this += 1; }
    LoopCount& operator--() { return *this += ~std::uint64_t{0}; }
    operator std::uint64_t() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_ = 0;
};

}  // namespace tiderace

// H2StreamTable: the open streams of one connection by their number.
//
//   slots   [ 9 | 1 | 3 | . | . | 13 | . | 7 ]    number / 2, then the next free one
//
// Numbers grow and streams end in about the order they began, so they hardly ever collide.
//
// Owner    The connection; holds its streams.
// Thread   The loop's.
// Limits   The caller's: the table doubles as it fills.
// Memory   None until the first stream; then 16 bytes for each, at least eight of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tiderace/core/shared.h"

namespace tiderace::http {

class H2Exchange;

class H2StreamTable {
  public:
    H2StreamTable();
    ~H2StreamTable();
    H2StreamTable(const H2StreamTable&) = delete;
    H2StreamTable& operator=(const H2StreamTable&) = delete;

    // Its number must not be in the table.
    void insert(core::Ref<H2Exchange> exchange);
    // nullptr: no stream of that number.
    H2Exchange* find(std::uint32_t stream) const;
    // Removes it from the table; it must be there.
    core::Ref<H2Exchange> take(std::uint32_t stream);
    // One of them, or none.
    core::Ref<H2Exchange> any() const;
    // A copy of all entries, so the table may change meanwhile. In no order.
    std::vector<core::Ref<H2Exchange>> all() const;

    std::size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }

  private:
    static constexpr std::size_t slots_min = 8;

    std::size_t home_of(std::uint32_t stream) const { return (stream >> 1U) & (slots_.size() - 1); }
    std::size_t slot_of(std::uint32_t stream) const;
    void grow();

    std::vector<core::Ref<H2Exchange>> slots_;  // a power of two, or none
    std::size_t count_ = 0;
};

}  // namespace tiderace::http

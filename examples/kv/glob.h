// Glob: a pattern of KEYS, SCAN and PSUBSCRIBE: ? * [a-z] [^x], and \ before a character that is
// itself.
//
// A client chooses the patterns, and others the names, so that the work is bounded: first step by
// step, back to the last star when something does not match; above a few steps for each byte of the
// text, all places of the pattern at once, as bits, 64 of them in a step.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "tiderace/base/bytes.h"

namespace kv {

using tiderace::ByteView;

class Glob {
  public:
    // Longer ones are refused (Call::takes_pattern). One of 1 KiB takes 17 steps for a byte.
    static constexpr std::size_t bytes_max = 1 << 10;

    // The bytes outlive it.
    explicit Glob(ByteView pattern);
    Glob(Glob&& other) noexcept;
    ~Glob();

    bool matches(ByteView text);

  private:
    class Places;

    // nullopt: too many steps.
    std::optional<bool> match_step_by_step(ByteView text) const;

    ByteView pattern_;
    std::unique_ptr<Places> places_;  // once a text needed them
};

}  // namespace kv

// UrlContext: where the URL in an attribute is. A value at its start is a whole URL, whose scheme
// is checked; a value behind a literal start is a part of one, and percent-encoded.
//
//   start ──literal──> scheme or path ──/ ? #──> settled
//     │                       └── no value may stand here: it could complete `javascript:`
//     └──value──> dynamic ──/ ? #──> settled          (a literal `:` is refused in dynamic)
//
// Thread   Any; a plain value.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "tiderace/text/escape.h"

namespace tiderace::text {

class UrlContext {
  public:
    // `runs`: what is behind the URL runs, so that its origin has to be literal.
    void begin(bool runs) {
        *this = {};
        runs_ = runs;
    }
    // The problem; "" when there is none. `rest` begins with `c`.
    std::string_view step(char c, std::string_view rest);
    std::expected<Escape, std::string_view> value();
    bool join(const UrlContext& other);
    bool operator==(const UrlContext&) const = default;

  private:
    // mixed: branches began differently; either: and one of them with a value.
    enum class State : std::uint8_t { start, prefix, dynamic, settled, mixed, either, refused };

    void step_literal(char c);

    State state_ = State::start;
    bool runs_ = false;
    std::string prefix_;  // the literal start, in lower case; only as far as it is needed
};

}  // namespace tiderace::text

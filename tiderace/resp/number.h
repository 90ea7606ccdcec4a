// The numbers of RESP, as texts and back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tiderace/base/bytes.h"

namespace tiderace::resp {

// Digits with an optional sign. nullopt: something else, or beyond 64 bits.
std::optional<std::int64_t> parse_integer(ByteView text);
// "1.5", "-3e10", "inf", "-inf", "nan". nullopt: something else, or beyond a double.
std::optional<double> parse_double(ByteView text);
// Digits with an optional sign, of any length.
bool is_big_number(ByteView text);

// The fewest digits that read back as the same number, laid out as by "%.17g", which Redis uses:
// "1.5", "100000", "1e+17", "1e-05", "inf", "nan".
class DoubleText {
  public:
    explicit DoubleText(double value);
    std::string_view view() const { return {text_.data(), size_}; }

  private:
    std::array<char, 32> text_;
    std::size_t size_ = 0;
};

}  // namespace tiderace::resp

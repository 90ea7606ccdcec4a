// Times as text (RFC 3339): "2026-11-22T10:30:00.250Z".
//
// Written in UTC with as many digits of a second as the time has. Read with any offset and up to
// nine digits, of which those finer than the time are dropped. Leap seconds (":60") and years
// beyond 0001 to 9999 are refused.
//
// Thread   Any; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tiderace::json {

inline constexpr std::size_t rfc3339_bytes_max = 30;

// The text of `ticks` since 1970; "" for a year that has none. `per_second`, the ticks of a second,
// is a power of ten from 1 to 10⁹.
std::string_view write_rfc3339(std::span<char, rfc3339_bytes_max> room, std::int64_t ticks,
                               std::int64_t per_second);
std::optional<std::int64_t> read_rfc3339(std::string_view text, std::int64_t per_second);

}  // namespace tiderace::json

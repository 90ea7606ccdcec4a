// Sizes and times with their units: 64_KiB, Duration, Instant, their text forms: "10s", "64KiB".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Only durations and clocks of libstdc++'s <chrono>: the calendar brings streams and locales into
// each file of an application. A file that needs the calendar includes <chrono>.
#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif

#include "tiderace/base/language.h"

namespace tiderace {

using namespace std::chrono_literals;

using Duration = std::chrono::nanoseconds;
// A moment of the monotonic clock. Comes from core::Clock, so that a test can own time.
using Instant = std::chrono::time_point<std::chrono::steady_clock, Duration>;
// A moment of the calendar, in whole seconds since 1970-01-01 UTC (what HTTP dates hold).
using UnixSeconds = std::int64_t;

constexpr std::size_t operator""_B(unsigned long long n) {
    return n;
}
constexpr std::size_t operator""_KiB(unsigned long long n) {
    return n << 10;
}
constexpr std::size_t operator""_MiB(unsigned long long n) {
    return n << 20;
}
constexpr std::size_t operator""_GiB(unsigned long long n) {
    return n << 30;
}

// "64KiB", "1MiB", "10k", "512" (bytes). k, m, g and KiB, MiB, GiB are powers of 1,024; KB, MB, GB
// powers of 1,000. No sign, no fraction, no space. nullopt: not of that form, or too large.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// "10s", "500ms", "2m", "1h", "1d"; "0" and "off" are zero. A bare number has no unit: refused.
std::optional<Duration> parse_duration(std::string_view text);

// The shortest exact form: "64KiB", "1000", "10s", "1500ms". Each parses back to the same value.
std::string format_bytes(std::uint64_t bytes);
std::string format_duration(Duration duration);

}  // namespace tiderace

// Figures: numbers as people read them, the same in every table, page and line of the lab.
//
// Thread   Any: pure functions.
// Limits   printed() makes printed_bytes_max bytes, and cuts what is longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tiderace/base/units.h"

namespace tiderace::load {

double in_seconds(Duration duration);
double per_second(std::uint64_t count, Duration elapsed);  // 0 for no time
// CPU microseconds for each right answer; 0 without one.
double each_us(Duration cpu, std::uint64_t answers);

// Three digits that mean something: "0.42", "8.21", "52.3", "1,048".
std::string short_number(double value);
std::string with_commas(std::uint64_t value);  // "2,496,629"
std::string micros(double us);                 // "820 µs", "1.24 ms", "2.50 s"
std::string readable(Duration duration);       // the same
std::string bytes(double value);               // "924 B", "24.3 kB", "1.20 MB", "1.20 GB"
std::string rate(double per_second);           // "312", "12.4k", "384k", "1.20M"
std::string times(double ratio);               // "×1.62"
std::string seconds(double value);             // "42 s", "3 min 20 s"
std::string fixed(double value, int digits);   // "1.50"

inline constexpr std::size_t printed_bytes_max = 511;
// As printf does, into a string.
[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);

}  // namespace tiderace::load

#include "load/figures.h"

#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace tiderace::load {
namespace {

// Three digits, no meaningless zeros behind a whole number of units: "1.2", "12.4", "384".
std::string three_digits(double value) {
    const double size = std::abs(value);
    // The bounds are where rounding would add a digit.
    return fixed(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

}  // namespace

double in_seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

double per_second(std::uint64_t count, Duration elapsed) {
    return elapsed > Duration::zero() ? static_cast<double>(count) / in_seconds(elapsed) : 0;
}

double each_us(Duration cpu, std::uint64_t answers) {
    return answers > 0 ? in_seconds(cpu) * 1e6 / static_cast<double>(answers) : 0;
}

std::string fixed(double value, int digits) {
    return printed("%.*f", digits, value);
}

std::string printed(const char* format, ...) {
    std::array<char, printed_bytes_max + 1> out;
    va_list values;
    va_start(values, format);
    // Longer text would be cut, so names and URLs are appended and not printed.
    std::vsnprintf(out.data(), out.size(), format, values);
    va_end(values);
    return out.data();
}

std::string with_commas(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
    return digits;
}

std::string short_number(double value) {
    // A share of nothing, which the tables show as absent and not as 0.
    if (!std::isfinite(value)) return "–";
    if (value >= 999.5) return with_commas(static_cast<std::uint64_t>(std::llround(value)));
    return three_digits(value);
}

std::string micros(double us) {
    if (us < 999.5) return fixed(us, us > 0 && us < 9.95 ? 1 : 0) + " µs";
    if (us < 999'500) return three_digits(us / 1e3) + " ms";
    return three_digits(us / 1e6) + " s";
}

std::string readable(Duration duration) {
    return micros(in_seconds(duration) * 1e6);
}

// Powers of 1,000, as traffic is counted. Sizes on the command line are powers of 1,024.
std::string bytes(double value) {
    if (value < 999.5) return fixed(value, 0) + " B";
    if (value < 999'500) return three_digits(value / 1e3) + " kB";
    if (value < 999.5e6) return three_digits(value / 1e6) + " MB";
    return three_digits(value / 1e9) + " GB";
}

std::string rate(double per_second) {
    if (per_second < 999.5) return fixed(per_second, 0);
    if (per_second < 999'500) return three_digits(per_second / 1e3) + "k";
    return three_digits(per_second / 1e6) + "M";
}

// With the sign in front, as it is read: "×1.62 of the floor".
std::string times(double ratio) {
    return "×" + three_digits(ratio);
}

std::string seconds(double value) {
    const auto whole = static_cast<std::uint64_t>(std::llround(value < 0 ? 0 : value));
    if (whole < 60) return std::to_string(whole) + " s";
    const std::string rest = whole % 60 > 0 ? " " + std::to_string(whole % 60) + " s" : "";
    return std::to_string(whole / 60) + " min" + rest;
}

}  // namespace tiderace::load

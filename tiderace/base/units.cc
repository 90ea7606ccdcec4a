#include "tiderace/base/units.h"

#include <array>
#include <charconv>
#include <limits>

namespace tiderace {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

// A single letter is a power of two, as in configurations of other servers; "MB" is the one of ten.
constexpr std::array byte_units{
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"k", 1ULL << 10},
    Unit{"K", 1ULL << 10},
    Unit{"KiB", 1ULL << 10},
    Unit{"KB", 1'000},
    Unit{"m", 1ULL << 20},
    Unit{"M", 1ULL << 20},
    Unit{"MiB", 1ULL << 20},
    Unit{"MB", 1'000'000},
    Unit{"g", 1ULL << 30},
    Unit{"G", 1ULL << 30},
    Unit{"GiB", 1ULL << 30},
    Unit{"GB", 1'000'000'000},
};

constexpr std::array duration_units{
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"m", 60ULL * 1'000'000'000},
    Unit{"h", 3'600ULL * 1'000'000'000},
    Unit{"d", 86'400ULL * 1'000'000'000},
};

template <std::size_t size>
std::optional<std::uint64_t> parse_scaled(std::string_view text,
                                          const std::array<Unit, size>& units) {
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{}) return std::nullopt;
    const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
    for (const Unit& unit : units) {
        if (unit.name != name) continue;
        if (number > std::numeric_limits<std::uint64_t>::max() / unit.factor) return std::nullopt;
        return number * unit.factor;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    return parse_scaled(text, byte_units);
}

std::optional<Duration> parse_duration(std::string_view text) {
    if (text == "0" || text == "off") return Duration::zero();
    const auto nanoseconds = parse_scaled(text, duration_units);
    if (!nanoseconds || *nanoseconds > static_cast<std::uint64_t>(Duration::max().count())) {
        return std::nullopt;
    }
    return Duration(static_cast<Duration::rep>(*nanoseconds));
}

std::string format_bytes(std::uint64_t bytes) {
    // Only what loses nothing, so that parse_bytes() reads the same number back.
    constexpr std::array whole{Unit{"GiB", 1ULL << 30}, Unit{"MiB", 1ULL << 20},
                               Unit{"KiB", 1ULL << 10}};
    for (const Unit& unit : whole) {
        if (bytes != 0 && bytes % unit.factor == 0) {
            return std::to_string(bytes / unit.factor) + std::string(unit.name);
        }
    }
    return std::to_string(bytes);
}

std::string format_duration(Duration duration) {
    if (duration == Duration::zero()) return "0";
    const auto nanoseconds = static_cast<std::uint64_t>(duration.count());
    // The largest unit first, which leaves the shortest text.
    for (auto unit = duration_units.rbegin(); unit != duration_units.rend(); ++unit) {
        if (nanoseconds % unit->factor == 0) {
            return std::to_string(nanoseconds / unit->factor) + std::string(unit->name);
        }
    }
    return std::to_string(nanoseconds) + "ns";
}

}  // namespace tiderace

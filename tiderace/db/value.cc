#include "tiderace/db/value.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "tiderace/db/error.h"

namespace tiderace::db {
namespace {

constexpr std::int64_t per_second = 1'000'000;
constexpr std::int64_t per_day = 86'400 * per_second;

// Reads numbers of a fixed number of digits off the front of a text.
class Digits {
  public:
    explicit Digits(std::string_view text) : left_(text) {}

    std::optional<int> number(std::size_t digits) {
        int value = 0;
        if (left_.size() < digits) return std::nullopt;
        for (std::size_t i = 0; i < digits; ++i) {
            if (left_[i] < '0' || left_[i] > '9') return std::nullopt;
            value = value * 10 + (left_[i] - '0');
        }
        left_.remove_prefix(digits);
        return value;
    }
    // A number up to `max`, behind `mark`.
    std::optional<int> behind(char mark, int max) {
        if (!take(mark)) return std::nullopt;
        const auto value = number(2);
        return value && *value <= max ? value : std::nullopt;
    }
    bool take(char c) {
        if (left_.empty() || left_.front() != c) return false;
        left_.remove_prefix(1);
        return true;
    }
    bool at(char c) const { return !left_.empty() && left_.front() == c; }
    bool at_end() const { return left_.empty(); }
    // Microseconds of ".25"; nullopt: no digit, or more than nine.
    std::optional<std::int64_t> fraction() {
        std::int64_t value = 0;
        std::size_t digits = 0;
        for (; !left_.empty() && left_.front() >= '0' && left_.front() <= '9'; ++digits) {
            // Digits below a microsecond are cut off, as the databases' own columns do not keep
            // them.
            if (digits < 6) value = value * 10 + (left_.front() - '0');
            left_.remove_prefix(1);
        }
        if (digits == 0 || digits > 9) return std::nullopt;
        for (; digits < 6; ++digits) value *= 10;
        return value;
    }

  private:
    std::string_view left_;
};

// Seconds east of Greenwich: "Z", "+01", "+0100", "+01:00", or nothing.
std::optional<std::int64_t> read_offset(Digits& text) {
    if (text.at_end() || text.take('Z')) return 0;
    const bool west = text.at('-');
    if (!text.take('+') && !text.take('-')) return std::nullopt;
    const auto hours = text.number(2);
    if (!hours || *hours > 23) return std::nullopt;
    int minutes = 0;
    if (!text.at_end()) {
        text.take(':');
        const auto read = text.number(2);
        if (!read || *read > 59) return std::nullopt;
        minutes = *read;
    }
    const std::int64_t offset = *hours * 3'600 + minutes * 60;
    return west ? -offset : offset;
}

std::optional<std::int64_t> read_clock(Digits& text) {
    const auto hours = text.number(2);
    if (!hours || *hours > 23) return std::nullopt;
    const auto minutes = text.behind(':', 59);
    const auto seconds = minutes ? text.behind(':', 59) : std::nullopt;
    if (!seconds) return std::nullopt;
    std::int64_t micros = 0;
    if (text.take('.')) {
        const auto fraction = text.fraction();
        if (!fraction) return std::nullopt;
        micros = *fraction;
    }
    return (*hours * 3'600 + *minutes * 60 + *seconds) * per_second + micros;
}

}  // namespace

std::string_view phrase_for(Kind kind) {
    static constexpr std::array<std::string_view, 8> phrases = {
        "null", "a boolean", "an integer", "a floating-point number",
        "text", "a blob",    "a decimal",  "a time"};
    return phrases[static_cast<std::size_t>(kind)];
}

void Value::refuse_enumerator() {
    throw Error(Fault::parameters, "a value of an enum that has no name");
}

void Value::refuse_time() {
    throw Error(Fault::parameters, "a time outside of the years 0001 to 9999");
}

std::string time_text(std::int64_t microseconds) {
    const Time time{std::chrono::microseconds(microseconds)};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const int year = static_cast<int>(date.year());
    // Four digits are what all three databases read.
    if (year < 1 || year > 9999) {
        throw Error(Fault::parameters, "a time outside of the years 0001 to 9999");
    }
    const std::int64_t within = (time - day).count();
    std::array<char, 32> room;
    const int size = std::snprintf(
        room.data(), room.size(), "%04d-%02u-%02u %02d:%02d:%02d.%06d", year,
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
        static_cast<int>(within / (3'600 * per_second)),
        static_cast<int>(within / (60 * per_second) % 60),
        static_cast<int>(within / per_second % 60), static_cast<int>(within % per_second));
    return {room.data(), static_cast<std::size_t>(size)};
}

std::optional<std::int64_t> read_time(std::string_view text) {
    using std::chrono::day, std::chrono::month, std::chrono::sys_days, std::chrono::year,
        std::chrono::year_month_day;
    Digits digits(text);
    const auto y = digits.number(4);
    const auto m = y ? digits.behind('-', 12) : std::nullopt;
    const auto d = m ? digits.behind('-', 31) : std::nullopt;
    if (!d) return std::nullopt;
    const year_month_day date{year(*y), month(static_cast<unsigned>(*m)),
                              day(static_cast<unsigned>(*d))};
    if (!date.ok()) return std::nullopt;
    std::int64_t micros = sys_days(date).time_since_epoch().count() * per_day;
    if (digits.at_end()) return micros;
    if (!digits.take(' ') && !digits.take('T')) return std::nullopt;
    const auto clock = read_clock(digits);
    if (!clock) return std::nullopt;
    const auto offset = read_offset(digits);
    if (!offset || !digits.at_end()) return std::nullopt;
    return micros + *clock - *offset * per_second;
}

}  // namespace tiderace::db

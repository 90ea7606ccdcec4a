// The calendar, in UTC: what date a second has, what seconds a date has, its names, and times as
// text (RFC 3339): "2026-11-22T10:30:00.250Z".
//
// Thread   Any: pure functions. One at a time for a FixedTextReader.
// Errors   nullopt or "": no such date or no such text, never the nearest one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tiderace/base/ascii.h"
#include "tiderace/base/units.h"

namespace tiderace {

inline constexpr UnixSeconds seconds_per_day = 86'400;

inline constexpr std::array<std::string_view, 12> month_names = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
inline constexpr std::array<std::string_view, 7> weekday_names = {
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::string_view short_name(std::string_view name) {
    return name.substr(0, 3);
}

struct CivilTime {
    int year = 1970;
    unsigned month = 1, day = 1, day_of_year = 1;  // from 1
    unsigned weekday = 4;                          // from 0, Sunday
    unsigned hour = 0, minute = 0, second = 0;

    std::string_view month_name() const { return month_names[month - 1]; }
    std::string_view weekday_name() const { return weekday_names[weekday]; }
    bool operator==(const CivilTime&) const = default;
};
// Beyond the years -25,000 to 29,000: a date at that end.
CivilTime civil_time(UnixSeconds time);
// When the day begins. nullopt: that month has no such day, that year no such month.
std::optional<UnixSeconds> midnight_of(int year, unsigned month, unsigned day);

// The last `digits` of a number, from `out` on. Returns their end.
constexpr char* put_digits(char* out, unsigned number, unsigned digits) {
    for (unsigned i = digits; i > 0; --i, number /= 10) {
        out[i - 1] = static_cast<char>('0' + number % 10);
    }
    return out + digits;
}

// Takes parts of a fixed form off the front of a text. After the first that differs, it stays bad.
class FixedTextReader {
  public:
    explicit FixedTextReader(std::string_view text) : rest_(text) {}

    bool good() const { return good_; }
    bool done() const { return good_ && rest_.empty(); }
    std::string_view rest() const { return rest_; }

    void require(bool holds) { good_ = good_ && holds; }
    void expect(std::string_view literal) { require(skip(literal)); }
    bool skip(std::string_view literal) {
        const bool found = good_ && rest_.starts_with(literal);
        if (found) rest_.remove_prefix(literal.size());
        return found;
    }
    // Exactly so many digits. 0 where they are none.
    int number(std::size_t digits) {
        int value = 0;
        require(rest_.size() >= digits);
        for (std::size_t i = 0; good_ && i < digits; ++i) {
            require(is_digit(rest_[i]));
            value = value * 10 + (rest_[i] - '0');
        }
        if (!good_) return 0;
        rest_.remove_prefix(digits);
        return value;
    }

  private:
    std::string_view rest_;
    bool good_ = true;
};

inline constexpr std::size_t rfc3339_bytes_max = 30;

// The text of `ticks` since 1970, with as many digits of a second as the time has; "" for a year
// beyond 0001 to 9999. `per_second`, the ticks of a second, is a power of ten from 1 to 10⁹.
std::string_view write_rfc3339(std::span<char, rfc3339_bytes_max> room, std::int64_t ticks,
                               std::int64_t per_second);
// Of any offset and up to nine digits of a second; digits finer than a tick are dropped. Leap
// seconds (":60") and other years are refused.
std::optional<std::int64_t> read_rfc3339(std::string_view text, std::int64_t per_second);
// As databases write it: in UTC without an offset, of which the colon and the minutes may be
// missing; a date alone is its midnight.
std::optional<std::int64_t> read_sql_time(std::string_view text, std::int64_t per_second);

}  // namespace tiderace

#include "tiderace/json/rfc3339.h"

#include <chrono>

namespace tiderace::json {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr std::int64_t day_seconds = 86'400;

void put_digits(char*& at, unsigned value, unsigned digits) {
    for (unsigned i = digits; i > 0; --i, value /= 10)
        at[i - 1] = static_cast<char>('0' + value % 10);
    at += digits;
}

// Takes its text from the front; any deviation makes it false for good.
class Digits {
  public:
    explicit Digits(std::string_view text) : rest_(text) {}

    unsigned number(unsigned digits) {
        unsigned value = 0;
        for (unsigned i = 0; i < digits; ++i) {
            const char c = take();
            if (c < '0' || c > '9') good_ = false;  // the value is not used then
            value = value * 10 + static_cast<unsigned>(c - '0');
        }
        return value;
    }
    void expect(std::string_view any_of) {
        if (any_of.find(take()) == any_of.npos) good_ = false;
    }
    bool skip(char c) {
        if (rest_.empty() || rest_.front() != c) return false;
        take();
        return true;
    }
    bool has_digit() const {
        return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
    }
    bool good() const { return good_; }
    bool done() const { return good_ && rest_.empty(); }

  private:
    char take() {
        if (rest_.empty()) {
            good_ = false;
            return '\0';
        }
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }

    std::string_view rest_;
    bool good_ = true;
};

std::optional<std::int64_t> read_day(Digits& digits) {
    const unsigned year = digits.number(4);
    digits.expect("-");
    const unsigned month = digits.number(2);
    digits.expect("-");
    const unsigned day = digits.number(2);
    // Year 0 is none that write_rfc3339() writes.
    if (!digits.good() || year == 0) return std::nullopt;
    const year_month_day date(std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                              std::chrono::day(day));
    if (!date.ok()) return std::nullopt;
    return sys_days(date).time_since_epoch().count();
}

std::optional<std::int64_t> read_clock(Digits& digits) {
    const unsigned hour = digits.number(2);
    digits.expect(":");
    const unsigned minute = digits.number(2);
    digits.expect(":");
    const unsigned second = digits.number(2);
    // RFC 3339, 5.7, allows ":60" in a leap second, which sys_time cannot express.
    if (!digits.good() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
    return hour * 3600 + minute * 60 + second;
}

// Nanoseconds.
std::optional<std::int64_t> read_fraction(Digits& digits) {
    if (!digits.skip('.')) return 0;
    std::int64_t value = 0;
    unsigned count = 0;
    for (; digits.has_digit(); ++count) {
        if (count == 9) return std::nullopt;
        value = value * 10 + digits.number(1);
    }
    if (count == 0) return std::nullopt;
    for (; count < 9; ++count) value *= 10;
    return value;
}

// Seconds that the clock on the wall is ahead of UTC.
std::optional<std::int64_t> read_offset(Digits& digits) {
    // 'T' and 'Z' may be in lower case, and a space may stand for 'T' (RFC 3339, 5.6).
    if (digits.skip('Z') || digits.skip('z')) return 0;
    const bool behind = digits.skip('-');
    if (!behind) digits.expect("+");
    const unsigned hour = digits.number(2);
    digits.expect(":");
    const unsigned minute = digits.number(2);
    if (!digits.good() || hour > 23 || minute > 59) return std::nullopt;
    const std::int64_t ahead = hour * 3600 + minute * 60;
    return behind ? -ahead : ahead;
}

}  // namespace

std::string_view write_rfc3339(std::span<char, rfc3339_bytes_max> room, std::int64_t ticks,
                               std::int64_t per_second) {
    std::int64_t seconds = ticks / per_second;
    std::int64_t fraction = ticks % per_second;
    // Before 1970: the fraction counts forward from the second below.
    if (fraction < 0) {
        fraction += per_second;
        --seconds;
    }
    std::int64_t day = seconds / day_seconds;
    if (seconds % day_seconds < 0) --day;
    constexpr std::int64_t first_day = -719'162;  // 0001-01-01
    constexpr std::int64_t last_day = 2'932'896;  // 9999-12-31
    // RFC 3339 has years of four digits.
    if (day < first_day || day > last_day) return {};
    const year_month_day date{sys_days(days(day))};
    const auto second = static_cast<unsigned>(seconds - day * day_seconds);
    char* at = room.data();
    put_digits(at, static_cast<unsigned>(static_cast<int>(date.year())), 4);
    *at++ = '-';
    put_digits(at, static_cast<unsigned>(date.month()), 2);
    *at++ = '-';
    put_digits(at, static_cast<unsigned>(date.day()), 2);
    *at++ = 'T';
    put_digits(at, second / 3600, 2);
    *at++ = ':';
    put_digits(at, second / 60 % 60, 2);
    *at++ = ':';
    put_digits(at, second % 60, 2);
    unsigned digits = 0;
    for (std::int64_t unit = per_second; unit > 1; unit /= 10) ++digits;
    if (digits > 0) {
        *at++ = '.';
        put_digits(at, static_cast<unsigned>(fraction), digits);
    }
    *at++ = 'Z';
    return {room.data(), static_cast<std::size_t>(at - room.data())};
}

std::optional<std::int64_t> read_rfc3339(std::string_view text, std::int64_t per_second) {
    Digits digits(text);
    const auto day = read_day(digits);
    digits.expect("Tt ");
    const auto clock = read_clock(digits);
    const auto fraction = read_fraction(digits);
    const auto ahead = read_offset(digits);
    if (!day || !clock || !fraction || !ahead || !digits.done()) return std::nullopt;
    const std::int64_t seconds = *day * day_seconds + *clock - *ahead;
    std::int64_t ticks = 0;
    // Nanoseconds in 64 bits reach from 1677 to 2262 only.
    if (__builtin_mul_overflow(seconds, per_second, &ticks)) return std::nullopt;
    if (__builtin_add_overflow(ticks, *fraction / (1'000'000'000 / per_second), &ticks)) {
        return std::nullopt;
    }
    return ticks;
}

}  // namespace tiderace::json

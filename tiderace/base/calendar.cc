#include "tiderace/base/calendar.h"

#include <algorithm>
#include <chrono>

namespace tiderace {
namespace {

enum class Form : std::uint8_t { rfc3339, sql };

std::optional<std::int64_t> read_clock(FixedTextReader& text) {
    const int hour = text.number(2);
    text.expect(":");
    const int minute = text.number(2);
    text.expect(":");
    const int second = text.number(2);
    // RFC 3339, 5.7, allows ":60" in a leap second, which sys_time cannot express.
    if (!text.good() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
    return hour * 3600 + minute * 60 + second;
}

// Nanoseconds.
std::int64_t read_fraction(FixedTextReader& text) {
    if (!text.skip(".")) return 0;
    std::int64_t value = 0;
    unsigned count = 0;
    for (; !text.rest().empty() && is_digit(text.rest().front()) && count < 9; ++count) {
        value = value * 10 + text.number(1);
    }
    text.require(count > 0);
    for (; count < 9; ++count) value *= 10;
    return value;
}

// Seconds that the clock on the wall is ahead of UTC.
std::int64_t read_offset(FixedTextReader& text, Form form) {
    if (form == Form::sql && text.done()) return 0;
    // 'T' and 'Z' may be in lower case, and a space may stand for 'T' (RFC 3339, 5.6).
    if (text.skip("Z") || text.skip("z")) return 0;
    const bool behind = text.skip("-");
    if (!behind) text.expect("+");
    const int hour = text.number(2);
    int minute = 0;
    if (form == Form::rfc3339 || !text.done()) {
        if (!text.skip(":")) text.require(form == Form::sql);
        minute = text.number(2);
    }
    text.require(hour <= 23 && minute <= 59);
    const std::int64_t ahead = hour * 3600 + minute * 60;
    return behind ? -ahead : ahead;
}

std::optional<std::int64_t> read_time(std::string_view whole, std::int64_t per_second, Form form) {
    FixedTextReader text(whole);
    const int year = text.number(4);
    text.expect("-");
    const int month = text.number(2);
    text.expect("-");
    const int day = text.number(2);
    const auto midnight =
        midnight_of(year, static_cast<unsigned>(month), static_cast<unsigned>(day));
    // Year 0 is none that write_rfc3339() writes.
    if (!text.good() || year == 0 || !midnight) return std::nullopt;
    std::int64_t seconds = *midnight;
    std::int64_t fraction = 0;
    if (form == Form::rfc3339 || !text.done()) {
        text.require(text.skip("T") || text.skip("t") || text.skip(" "));
        const auto clock = read_clock(text);
        fraction = read_fraction(text);
        const std::int64_t ahead = read_offset(text, form);
        if (!clock || !text.done()) return std::nullopt;
        seconds += *clock - ahead;
    }
    std::int64_t ticks = 0;
    // Nanoseconds in 64 bits reach from 1677 to 2262 only.
    if (__builtin_mul_overflow(seconds, per_second, &ticks)) return std::nullopt;
    if (__builtin_add_overflow(ticks, fraction / (1'000'000'000 / per_second), &ticks)) {
        return std::nullopt;
    }
    return ticks;
}

}  // namespace

CivilTime civil_time(UnixSeconds time) {
    using std::chrono::sys_days;
    // A year of <chrono> has 16 bits.
    constexpr std::int64_t days_max = 10'000'000;
    const std::int64_t left = time % seconds_per_day;
    const auto second = static_cast<unsigned>(left < 0 ? left + seconds_per_day : left);
    const std::int64_t whole = time / seconds_per_day - (left < 0 ? 1 : 0);
    const sys_days day(std::chrono::days(std::clamp(whole, -days_max, days_max)));
    const std::chrono::year_month_day date(day);
    const sys_days new_year(date.year() / std::chrono::January / 1);
    return {.year = static_cast<int>(date.year()),
            .month = static_cast<unsigned>(date.month()),
            .day = static_cast<unsigned>(date.day()),
            .day_of_year = static_cast<unsigned>((day - new_year).count()) + 1,
            .weekday = std::chrono::weekday(day).c_encoding(),
            .hour = second / 3600,
            .minute = second / 60 % 60,
            .second = second % 60};
}

std::optional<UnixSeconds> midnight_of(int year, unsigned month, unsigned day) {
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                           std::chrono::day(day)};
    if (!date.ok()) return std::nullopt;
    return std::chrono::sys_days(date).time_since_epoch().count() * seconds_per_day;
}

std::string_view write_rfc3339(std::span<char, rfc3339_bytes_max> room, std::int64_t ticks,
                               std::int64_t per_second) {
    std::int64_t seconds = ticks / per_second;
    std::int64_t fraction = ticks % per_second;
    // Before 1970: the fraction counts forward from the second below.
    if (fraction < 0) {
        fraction += per_second;
        --seconds;
    }
    const CivilTime time = civil_time(seconds);
    // RFC 3339 has years of four digits.
    if (time.year < 1 || time.year > 9999) return {};
    char* at = put_digits(room.data(), static_cast<unsigned>(time.year), 4);
    const auto part = [&at](char before, unsigned number, unsigned digits) {
        *at++ = before;
        at = put_digits(at, number, digits);
    };
    part('-', time.month, 2);
    part('-', time.day, 2);
    part('T', time.hour, 2);
    part(':', time.minute, 2);
    part(':', time.second, 2);
    unsigned digits = 0;
    for (std::int64_t unit = per_second; unit > 1; unit /= 10) ++digits;
    if (digits > 0) part('.', static_cast<unsigned>(fraction), digits);
    *at++ = 'Z';
    return {room.data(), static_cast<std::size_t>(at - room.data())};
}

std::optional<std::int64_t> read_rfc3339(std::string_view text, std::int64_t per_second) {
    return read_time(text, per_second, Form::rfc3339);
}

std::optional<std::int64_t> read_sql_time(std::string_view text, std::int64_t per_second) {
    return read_time(text, per_second, Form::sql);
}

}  // namespace tiderace

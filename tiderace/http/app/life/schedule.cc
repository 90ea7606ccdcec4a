#include "tiderace/http/app/life/schedule.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <span>

#include "tiderace/base/ascii.h"
#include "tiderace/base/calendar.h"
#include "tiderace/base/moment.h"

namespace tiderace::http::app_parts {
namespace {

constexpr UnixSeconds minute_seconds = 60;
constexpr UnixSeconds hour_seconds = 3'600;
// How far a zone's clock jumps at most, in either direction.
constexpr UnixSeconds jump_max = 3 * hour_seconds;
// 29 February on a given weekday comes at least once in 40 years.
constexpr int days_ahead_max = 40 * 366;

struct Field {
    std::string_view name;
    unsigned first;
    unsigned last;
    std::span<const std::string_view> names = {};  // the first one's value is `first`
};

std::string text_of(const Field& field) {
    return "the " + std::string(field.name) + " is " + std::to_string(field.first) + " to " +
           std::to_string(field.last);
}

std::optional<unsigned> read_value(const Field& field, std::string_view text) {
    for (std::size_t i = 0; i < field.names.size(); ++i) {
        if (equals_ignoring_case(text, short_name(field.names[i]))) {
            return field.first + static_cast<unsigned>(i);
        }
    }
    const auto value = parse_number<unsigned>(text);
    if (!value || *value < field.first || *value > field.last) return std::nullopt;
    return value;
}

// "*", "7", "1-5", "*/15", "8-18/2". False: none of them.
template <std::size_t size>
bool read_item(const Field& field, std::string_view text, std::bitset<size>& out) {
    unsigned step = 1;
    if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
        const auto given = parse_number<unsigned>(text.substr(slash + 1));
        if (!given || *given == 0) return false;
        step = *given;
        text = text.substr(0, slash);
        if (text != "*" && !text.contains('-')) return false;
    }
    unsigned first = field.first;
    unsigned last = field.last;
    if (text != "*") {
        const std::size_t dash = text.find('-');
        const auto from = read_value(field, text.substr(0, dash));
        const auto to =
            dash == std::string_view::npos ? from : read_value(field, text.substr(dash + 1));
        if (!from || !to || *from > *to) return false;
        first = *from;
        last = *to;
    }
    // A step that is larger than the field leaves its first value.
    for (std::uint64_t value = first; value <= last; value += step) out.set(value % size);
    return true;
}

// Takes one field off the front. "": it is one.
template <std::size_t size>
std::string read_field(const Field& field, std::string_view& rest, std::bitset<size>& out) {
    const std::string_view text = rest.substr(0, rest.find(' '));
    if (text.empty()) return "it needs five fields: minute, hour, day, month, day of the week";
    rest.remove_prefix(text.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        if (!read_item(field, text.substr(at, comma - at), out)) {
            return text_of(field) + ", not \"" + std::string(text) + '"';
        }
        at = comma + 1;
    }
    return "";
}

std::tm local_time(UnixSeconds time) {
    const std::time_t at = time;
    std::tm local{};
    ::localtime_r(&at, &local);
    return local;
}

// The date of a time, as the time at which it begins in UTC.
UnixSeconds local_day(UnixSeconds time) {
    const std::tm local = local_time(time);
    return midnight_of(local.tm_year + 1900, static_cast<unsigned>(local.tm_mon) + 1,
                       static_cast<unsigned>(local.tm_mday))
        .value_or(0);
}

UnixSeconds minute_of(UnixSeconds time) {
    return time - ((time % minute_seconds) + minute_seconds) % minute_seconds;
}

}  // namespace

std::expected<Schedule, std::string> Schedule::every(Duration interval) {
    if (interval < 1ms) return std::unexpected<std::string>("an interval is at least 1 ms");
    Schedule made;
    made.interval_ = interval;
    return made;
}

std::expected<Schedule, std::string> Schedule::at(std::string_view cron) {
    Schedule made;
    std::bitset<8> weekdays;
    const std::string_view all = cron;
    const auto refuse = [&](const std::string& why) {
        return std::unexpected('"' + std::string(all) + "\": " + why);
    };
    std::string why = read_field({"minute", 0, 59}, cron, made.minutes_);
    made.every_hour_ = cron.starts_with("* ");
    if (why.empty()) why = read_field({"hour", 0, 23}, cron, made.hours_);
    const bool any_day = cron.starts_with('*');
    if (why.empty()) why = read_field({"day of the month", 1, 31}, cron, made.days_);
    if (why.empty()) why = read_field({"month", 1, 12, month_names}, cron, made.months_);
    made.either_day_ = !any_day && !cron.starts_with('*');
    if (why.empty()) why = read_field({"day of the week", 0, 7, weekday_names}, cron, weekdays);
    if (why.empty() && !cron.empty()) why = "it has more than five fields";
    if (!why.empty()) return refuse(why);
    for (std::size_t day = 0; day < 8; ++day) {
        if (weekdays.test(day)) made.weekdays_.set(day % 7);
    }
    if (!made.next(0)) return refuse("no such date exists");
    return made;
}

bool Schedule::has_day(UnixSeconds day) const {
    const CivilTime date = civil_time(day);
    if (!months_.test(date.month)) return false;
    const bool of_month = days_.test(date.day);
    const bool of_week = weekdays_.test(date.weekday);
    return either_day_ ? of_month || of_week : of_month && of_week;
}

std::optional<UnixSeconds> Schedule::next(UnixSeconds after) const {
    // A day more at the front: clocks that go back at midnight bring the day before again.
    UnixSeconds day = local_day(after) - seconds_per_day;
    for (int i = 0; i < days_ahead_max; ++i, day += seconds_per_day) {
        if (!has_day(day)) continue;
        if (const auto found = next_on(day, after)) return found;
    }
    return std::nullopt;
}

// The next time of a day. It goes through the minutes that really pass, because a zone may have
// the day's twice or not at all.
std::optional<UnixSeconds> Schedule::next_on(UnixSeconds day, UnixSeconds after) const {
    const CivilTime date = civil_time(day);
    std::tm midnight{};
    midnight.tm_year = date.year - 1900;
    midnight.tm_mon = static_cast<int>(date.month) - 1;
    midnight.tm_mday = static_cast<int>(date.day);
    midnight.tm_isdst = -1;
    UnixSeconds time = minute_of(std::mktime(&midnight) - jump_max);
    const UnixSeconds end = time + seconds_per_day + 3 * jump_max;
    if (every_hour_) time = std::max(time, minute_of(after) + minute_seconds);
    int passed = -1;  // the last minute of the day that there was
    for (; time < end; time += minute_seconds) {
        const std::tm local = local_time(time);
        if (local.tm_mday != static_cast<int>(date.day)) continue;
        const int minute = local.tm_hour * 60 + local.tm_min;
        bool due = false;
        if (every_hour_) {
            due = has_minute(minute);
        } else {
            // Times that the clock has just skipped count, and no time counts twice.
            while (passed < minute) due |= has_minute(++passed);
        }
        if (due && time > after) return time;
    }
    return std::nullopt;
}

void NextRun::plan(Instant now, UnixSeconds unix_now) {
    seen_ = unix_now;
    if (!schedule_->interval()) {
        // The clock may have been set back since the run that is over, but not by as much as a
        // correction of a clock that was wrong.
        const bool again = time_ && unix_now < *time_ && unix_now + jump_max > *time_;
        time_ = schedule_->next(again ? *time_ : unix_now);
        return;
    }
    const Duration interval = *schedule_->interval();
    const Instant next = moment_after(due_.value_or(now), interval);
    // Runs that it missed while it ran are left out, and the rhythm stays.
    due_ = next > now ? next : next + (now - next) / interval * interval + interval;
}

Duration NextRun::wait(Instant now, UnixSeconds unix_now) {
    if (due_) return std::max(*due_ - now, Duration::zero());
    if (unix_now + jump_max < seen_) plan(now, unix_now);
    seen_ = unix_now;
    if (!time_) return look_again;
    if (unix_now >= *time_) return Duration::zero();
    return std::min<Duration>(std::chrono::seconds(*time_ - unix_now), look_again);
}

}  // namespace tiderace::http::app_parts

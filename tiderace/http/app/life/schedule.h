// Internal. Schedules: when the jobs of an App run, at intervals or at times of the calendar.
//
//   app.every(10min, "expire carts", [](Carts& carts) -> Task<> { co_await carts.expire(); });
//   app.at("30 3 * * MON-FRI", "report", [](Mails& mails) -> Task<> { … });
//
//   minute 0-59   hour 0-23   day of the month 1-31   month 1-12, JAN-DEC
//   day of the week 0-7, SUN-SAT (0 and 7: Sunday)
//
// The five fields of cron, each `*`, a value, a range a-b, these with a step (`*/15`, `8-18/2`), or
// a list of them. If both days are given, either is enough; one that begins with `*` restricts the
// other.
//
// Runs     On one loop of the process, beside the requests. A job never runs twice at a time: what
//          falls due while it runs is left out. every() counts from the start of the App and drifts
//          not; the first run is after one interval.
// Times    The zone of the process (TZ), and its rules for summer time. With fixed hours each time
//          of a day happens once: one that is skipped when clocks go forward runs as they do, one
//          that comes twice runs the first time. Where the hour is `*`, jobs follow the time that
//          passes. When the clock is set, a time that it passed over runs at once, a single time;
//          if it is set back by less than three hours, no time runs again.
// Ends     Draining starts no more runs, and waits for those under way until ServeOptions::drain.
// Errors   A job that throws is one line of the log, with its name, and runs again when it is due.
//          A text that is no schedule, or no date that exists: the App does not serve.
// Limits   A job runs within a second of its time.
// Thread   Schedule: any. NextRun: its loop's.
// Keywords: cron, timer, periodic job, interval
#pragma once

#include <bitset>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "tiderace/base/units.h"

namespace tiderace::http::app_parts {

class Schedule {
  public:
    // The error: what is wrong with it, as the end of a sentence.
    static std::expected<Schedule, std::string> every(Duration interval);
    static std::expected<Schedule, std::string> at(std::string_view cron);

    std::optional<Duration> interval() const { return interval_; }
    // Of at(): the first time after this one; nullopt: none in the next 40 years.
    std::optional<UnixSeconds> next(UnixSeconds after) const;

  private:
    bool has_day(UnixSeconds day) const;
    bool has_minute(int minute_of_day) const {
        return hours_.test(static_cast<std::size_t>(minute_of_day / 60)) &&
               minutes_.test(static_cast<std::size_t>(minute_of_day % 60));
    }
    std::optional<UnixSeconds> next_on(UnixSeconds day, UnixSeconds after) const;

    std::optional<Duration> interval_;
    std::bitset<60> minutes_;
    std::bitset<24> hours_;
    std::bitset<32> days_;     // from 1
    std::bitset<13> months_;   // from 1
    std::bitset<7> weekdays_;  // from 0, Sunday
    bool every_hour_ = false;  // the field is `*`
    bool either_day_ = false;  // both are given
};

// When a job runs next.
class NextRun {
  public:
    // The clock is read again after this time, because it may have been set.
    static constexpr Duration look_again = 1min;

    explicit NextRun(const Schedule& schedule) : schedule_(&schedule) {}

    // The first run after now.
    void plan(Instant now, UnixSeconds unix_now);
    // How long to wait before the next call; zero: it is due. After plan().
    Duration wait(Instant now, UnixSeconds unix_now);

  private:
    const Schedule* schedule_;
    std::optional<Instant> due_;       // of every()
    std::optional<UnixSeconds> time_;  // of at()
    UnixSeconds seen_ = 0;             // the clock, when it was last looked at
};

}  // namespace tiderace::http::app_parts

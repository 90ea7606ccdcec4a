#include "tiderace/http/app/life/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "tiderace/base/calendar.h"
#include "tiderace/testing/environment_variable.h"

namespace tiderace::http::app_parts {
namespace {

// Central European time without the zone files of a machine: clocks go forward on the last Sunday
// of March at 2:00, and back on the last one of October at 3:00.
constexpr const char* berlin = "CET-1CEST,M3.5.0/2,M10.5.0/3";

class ScheduleTest : public ::testing::Test {
  protected:
    ~ScheduleTest() override {
        zone_.reset();
        ::tzset();
    }
    void set_zone(const std::string& zone) {
        zone_.emplace("TZ", zone);
        ::tzset();
    }
    static UnixSeconds utc(std::string_view text) { return read_rfc3339(text, 1).value(); }
    static std::string text(UnixSeconds time) {
        std::array<char, rfc3339_bytes_max> room{};
        return std::string(write_rfc3339(room, time, 1));
    }
    // The next runs after a time, in UTC.
    static std::vector<std::string> runs(std::string_view cron, std::string_view after,
                                         std::size_t count) {
        const auto schedule = Schedule::at(cron);
        std::vector<std::string> all;
        if (!schedule) return {schedule.error()};
        UnixSeconds time = utc(after);
        for (std::size_t i = 0; i < count; ++i) {
            time = schedule->next(time).value();
            all.push_back(text(time));
        }
        return all;
    }

  private:
    std::optional<testing::EnvironmentVariable> zone_{std::in_place, "TZ", "UTC"};
};

using ::testing::ElementsAre;

TEST_F(ScheduleTest, FieldsAreThoseOfCron) {
    set_zone("UTC");
    const auto from = "2026-11-27T10:07:30Z";  // a Friday
    EXPECT_THAT(runs("* * * * *", from, 2),
                ElementsAre("2026-11-27T10:08:00Z", "2026-11-27T10:09:00Z"));
    EXPECT_THAT(runs("*/15 * * * *", from, 2),
                ElementsAre("2026-11-27T10:15:00Z", "2026-11-27T10:30:00Z"));
    EXPECT_THAT(runs("30 3 * * MON-FRI", from, 2),
                ElementsAre("2026-11-30T03:30:00Z", "2026-12-01T03:30:00Z"));
    EXPECT_THAT(runs("0 8-18/5,23 * * *", from, 4),
                ElementsAre("2026-11-27T13:00:00Z", "2026-11-27T18:00:00Z", "2026-11-27T23:00:00Z",
                            "2026-11-28T08:00:00Z"));
    EXPECT_THAT(runs("0 0 1 jan *", from, 1), ElementsAre("2027-01-01T00:00:00Z"));
    EXPECT_THAT(runs("0 0 * * 0", from, 1), ElementsAre("2026-11-29T00:00:00Z"));
    EXPECT_THAT(runs("0 0 * * 7", from, 1), ElementsAre("2026-11-29T00:00:00Z"));
    EXPECT_THAT(runs("0 0 * * 5-7", from, 2),
                ElementsAre("2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"));
    EXPECT_THAT(runs("0 0 29 2 *", from, 2),
                ElementsAre("2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"));
    EXPECT_THAT(runs("  0   0   31  *  *  ", "x", 1),
                ElementsAre(::testing::HasSubstr("five fields")));
    EXPECT_THAT(runs("0  0   31  *  * ", from, 2),
                ElementsAre("2026-12-31T00:00:00Z", "2027-01-31T00:00:00Z"));
}

TEST_F(ScheduleTest, OfTwoGivenDaysEitherIsEnough) {
    set_zone("UTC");
    const auto from = "2026-11-27T10:07:30Z";
    EXPECT_THAT(runs("0 0 1 * FRI", from, 2),
                ElementsAre("2026-12-01T00:00:00Z", "2026-12-04T00:00:00Z"));
    // Every second day of the month that is a Monday.
    EXPECT_THAT(runs("0 0 */2 * MON", from, 2),
                ElementsAre("2026-12-07T00:00:00Z", "2026-12-21T00:00:00Z"));
}

TEST_F(ScheduleTest, WhatIsNoScheduleIsNamed) {
    const auto error = [](std::string_view text) { return Schedule::at(text).error(); };
    EXPECT_EQ(error("60 * * * *"), "\"60 * * * *\": the minute is 0 to 59, not \"60\"");
    EXPECT_EQ(error("0 24 * * *"), "\"0 24 * * *\": the hour is 0 to 23, not \"24\"");
    EXPECT_EQ(error("0 0 30 2 *"), "\"0 0 30 2 *\": no such date exists");
    EXPECT_THAT(error("03:00"), ::testing::HasSubstr("the minute is 0 to 59"));
    EXPECT_THAT(error("0 0 * *"), ::testing::HasSubstr("it needs five fields"));
    EXPECT_THAT(error("0 0 * * * *"), ::testing::HasSubstr("more than five fields"));
    for (const char* bad : {"", "-1 * * * *", "1- * * * *", "5-1 * * * *", "*/0 * * * *",
                            "1/5 * * * *", ", * * * *", "1, * * * *", "* * 0 * *", "* * * 13 *",
                            "* * * * 8", "* * * * MONDAY", "x * * * *", "99999999999 * * * *"}) {
        EXPECT_FALSE(Schedule::at(bad)) << bad;
    }
    EXPECT_FALSE(Schedule::every(0s));
    EXPECT_FALSE(Schedule::every(-1s));
    EXPECT_TRUE(Schedule::every(Duration::max()));
    EXPECT_TRUE(Schedule::at("*/4000000000 * * * *"));
}

// 29 March 2026: 01:59 CET (00:59 UTC) is followed by 03:00 CEST (01:00 UTC).
TEST_F(ScheduleTest, ATimeThatIsSkippedRunsWhenTheClocksGoForward) {
    set_zone(berlin);
    EXPECT_THAT(
        runs("30 2 * * *", "2026-03-27T12:00:00Z", 3),
        ElementsAre("2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"));
    EXPECT_THAT(runs("0,30 2,3 * * *", "2026-03-28T12:00:00Z", 3),
                ElementsAre("2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:00:00Z"))
        << "one run for all that are due with the jump";
    EXPECT_THAT(runs("15 * * * *", "2026-03-29T00:00:00Z", 3),
                ElementsAre("2026-03-29T00:15:00Z", "2026-03-29T01:15:00Z", "2026-03-29T02:15:00Z"))
        << "an hour is left out, and no run with it";
}

// 25 October 2026: 02:59 CEST (00:59 UTC) is followed by 02:00 CET (01:00 UTC).
TEST_F(ScheduleTest, ATimeThatComesTwiceRunsTheFirstTime) {
    set_zone(berlin);
    EXPECT_THAT(runs("30 2 * * *", "2026-10-24T12:00:00Z", 2),
                ElementsAre("2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"));
    EXPECT_THAT(runs("30 2 * * *", "2026-10-25T00:40:00Z", 1), ElementsAre("2026-10-26T01:30:00Z"));
    EXPECT_THAT(runs("15 * * * *", "2026-10-25T00:00:00Z", 3),
                ElementsAre("2026-10-25T00:15:00Z", "2026-10-25T01:15:00Z", "2026-10-25T02:15:00Z"))
        << "each hour that passes";
}

// Clocks that go back at midnight have the last hour of the day before twice; ones that go forward
// then have no midnight.
TEST_F(ScheduleTest, MidnightMayBeSkippedOrBelongToTheDayBefore) {
    set_zone("AAA3BBB,M10.3.0/0,M2.3.0/0");  // 18 October 2026 forward, 15 February 2026 back
    EXPECT_THAT(runs("0 0 18 10 *", "2026-10-17T12:00:00Z", 1),
                ElementsAre("2026-10-18T03:00:00Z"));
    EXPECT_THAT(runs("30 23 14 2 *", "2026-02-14T12:00:00Z", 2),
                ElementsAre("2026-02-15T01:30:00Z", "2027-02-15T01:30:00Z"));
    EXPECT_THAT(runs("30 * 14 2 *", "2026-02-15T01:30:00Z", 1),
                ElementsAre("2026-02-15T02:30:00Z"));
}

TEST_F(ScheduleTest, ClocksThatAreWrongHaveANextRunToo) {
    set_zone("UTC");
    const auto schedule = Schedule::at("0 3 * * *").value();
    EXPECT_EQ(text(schedule.next(-1).value()), "1970-01-01T03:00:00Z");
    EXPECT_EQ(text(schedule.next(-86'400 * 365).value()), "1969-01-01T03:00:00Z");
    EXPECT_EQ(text(schedule.next(utc("2300-01-01T03:00:00Z")).value()), "2300-01-02T03:00:00Z");
}

TEST_F(ScheduleTest, AClockThatIsSetBackRunsNothingTwice) {
    set_zone("UTC");
    const auto schedule = Schedule::at("0 3 * * *").value();
    NextRun next(schedule);
    const Instant now{};
    next.plan(now, utc("2026-11-27T02:59:30Z"));
    EXPECT_EQ(next.wait(now, utc("2026-11-27T02:59:30Z")), 30s);
    EXPECT_EQ(next.wait(now, utc("2026-11-27T03:00:00Z")), 0s);
    next.plan(now, utc("2026-11-27T02:58:00Z"));  // it ran, and the clock was set
    EXPECT_EQ(next.wait(now, utc("2026-11-27T03:00:00Z")), 1min);
    EXPECT_EQ(next.wait(now, utc("2026-11-28T03:00:00Z")), 0s);
    // It was a year ahead; the times of that year are of no use.
    EXPECT_EQ(next.wait(now, utc("2025-11-27T02:59:59Z")), 1s);
}

}  // namespace
}  // namespace tiderace::http::app_parts

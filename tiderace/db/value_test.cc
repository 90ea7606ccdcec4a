#include "tiderace/db/value.h"

#include <gtest/gtest.h>

#include <limits>

#include "tiderace/db/error.h"

namespace tiderace::db {
namespace {

enum class Shade { red, green };

TEST(Value, TakesWhatAParameterMayBe) {
    EXPECT_EQ(Value(true).kind(), Kind::boolean);
    EXPECT_EQ(Value(7U).integer(), 7);
    EXPECT_EQ(Value(-7).integer(), -7);
    EXPECT_EQ(Value(std::numeric_limits<std::uint64_t>::max()).bytes(), "18446744073709551615");
    EXPECT_EQ(Value(1.5F).real(), 1.5);
    EXPECT_EQ(Value("x").bytes(), "x");
    EXPECT_EQ(Value(Shade::green).bytes(), "green");
    EXPECT_EQ(Value(std::optional<int>()).kind(), Kind::null);
    EXPECT_EQ(Value(std::optional<int>(3)).integer(), 3);
    EXPECT_EQ(Value(std::chrono::sys_seconds(std::chrono::seconds(2))).integer(), 2'000'000);
    EXPECT_THROW(Value(static_cast<Shade>(9)), Error);
}

// As json::Range and its like.
struct EncoderPool {
    using json_value = int;
    int number = 0;
    operator const int&() const { return number; }
    const int& operator*() const { return number; }
};

TEST(Value, OfACheckedTypeIsTheValueInside) {
    EXPECT_EQ(Value(EncoderPool{7}).kind(), Kind::integer);
    EXPECT_EQ(Value(EncoderPool{7}).integer(), 7);
    EXPECT_EQ(Value(std::optional(EncoderPool{8})).integer(), 8);
    EXPECT_EQ(Value(std::optional<EncoderPool>()).kind(), Kind::null);
    static_assert(!std::constructible_from<Value, int*>);
    static_assert(!std::constructible_from<Value, std::optional<int*>>);
}

TEST(Value, TimesAreTextOfOneLength) {
    EXPECT_EQ(time_text(0), "1970-01-01 00:00:00.000000");
    EXPECT_EQ(time_text(-1), "1969-12-31 23:59:59.999999");
    EXPECT_EQ(time_text(1'795'343'400'250'000), "2026-11-22 10:30:00.250000");
    EXPECT_THROW(time_text(std::numeric_limits<std::int64_t>::max()), Error);
}

TEST(Value, ATimeThatNoDatabaseHoldsIsAnError) {
    using std::chrono::sys_days, std::chrono::sys_seconds, std::chrono::year;
    const auto first = sys_days(year(1) / 1 / 1);
    const auto last = sys_days(year(9999) / 12 / 31);
    EXPECT_EQ(time_text(Value(first).integer()), "0001-01-01 00:00:00.000000");
    EXPECT_EQ(time_text(Value(last).integer()), "9999-12-31 00:00:00.000000");
    const auto kind_of = [](auto time) {
        try {
            (void)Value(time);
        } catch (const Error& error) {
            return error.kind();
        }
        return Fault::other;
    };
    EXPECT_EQ(kind_of(first - std::chrono::days(1)), Fault::parameters);
    EXPECT_EQ(kind_of(last + std::chrono::days(1)), Fault::parameters);
    // 2^64 microseconds behind 1970: it would wrap to that.
    EXPECT_EQ(kind_of(sys_seconds(std::chrono::seconds(18'446'744'073'710))), Fault::parameters);
    EXPECT_EQ(kind_of(sys_seconds::max()), Fault::parameters);
    EXPECT_EQ(kind_of(sys_seconds::min()), Fault::parameters);
    const std::chrono::duration<double> none(std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(kind_of(std::chrono::sys_time<std::chrono::duration<double>>(none)),
              Fault::parameters);
    using Nano = std::chrono::sys_time<std::chrono::nanoseconds>;
    EXPECT_EQ(Value(Nano::max()).integer(), INT64_MAX / 1'000);
    EXPECT_EQ(Value(Nano(std::chrono::nanoseconds(-1))).integer(), -1);
}

TEST(Value, TimesAreReadInEveryForm) {
    const std::int64_t time = 1'795'343'400'250'000;
    for (const auto text : {"2026-11-22 10:30:00.25", "2026-11-22T10:30:00.250Z",
                            "2026-11-22 10:30:00.250000999", "2026-11-22 11:30:00.25+01",
                            "2026-11-22 05:00:00.25-0530", "2026-11-22 11:30:00.25+01:00"}) {
        EXPECT_EQ(read_time(text), time) << text;
    }
    EXPECT_EQ(read_time("1970-01-02"), 86'400'000'000);
    EXPECT_EQ(read_time(time_text(-62'135'596'800'000'000)), -62'135'596'800'000'000);
    for (const auto text :
         {"", "now", "2026-11-22 10:30", "2026-02-30 10:30:00", "2026-11-22 24:00:00",
          "2026-11-22 10:30:00.", "2026-11-22 10:30:00+", "2026-11-22 10:30:00 x", "infinity",
          "2026-13-01", "20261-01-01 00:00:00", "2026-11-22 10:30:00.1234567890"}) {
        EXPECT_EQ(read_time(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace tiderace::db

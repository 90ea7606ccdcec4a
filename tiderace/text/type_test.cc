#include "tiderace/text/type.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/text/type_of.h"

namespace tiderace::text {
namespace {

Order order_of(const auto& left, const auto& right) {
    return compare(ref_to(left), ref_to(right));
}

TEST(Type, ComparesIntegersOfAnySign) {
    const std::uint64_t big = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(order_of(std::int8_t{-1}, big), Order::less);
    EXPECT_EQ(order_of(big, -1), Order::greater);
    EXPECT_EQ(order_of(big, std::numeric_limits<std::int64_t>::max()), Order::greater);
    EXPECT_EQ(order_of(-3, std::int16_t{-2}), Order::less);
    EXPECT_EQ(order_of(std::uint8_t{200}, 200), Order::equal);
    EXPECT_EQ(order_of(2, 2.5), Order::less);
    EXPECT_EQ(order_of(std::numeric_limits<double>::quiet_NaN(), 1), Order::none);
    EXPECT_EQ(order_of(std::string("a"), 1), Order::none);
    EXPECT_EQ(order_of(std::optional<int>(), std::optional<int>()), Order::equal);
    EXPECT_EQ(order_of(std::optional<int>(), 0), Order::none);
}

TEST(Type, KnowsTheMembersOfAStruct) {
    struct Point {
        int x;
        std::vector<Point> around;
    };
    const Type& type = type_of<Point>;
    ASSERT_EQ(type.members.size(), 2u);
    EXPECT_EQ(type.name, "Point");
    EXPECT_EQ(type.members[1].name, "around");
    EXPECT_EQ(type.members[1].type->element, &type);
    EXPECT_EQ(type.members[1].type->kind, Kind::list);
}

TEST(Type, WritesTimesOfAnyYear) {
    const auto shown = [](std::int64_t seconds) {
        std::string out;
        EXPECT_TRUE(append_time(out, seconds, "%Y-%m-%d %H:%M:%S"));
        return out;
    };
    EXPECT_EQ(shown(0), "1970-01-01 00:00:00");
    EXPECT_EQ(shown(-1), "1969-12-31 23:59:59");
    EXPECT_EQ(shown(951'782'400), "2000-02-29 00:00:00");
    EXPECT_EQ(shown(-62'198'755'200), "-0001-01-01 00:00:00");
    EXPECT_EQ(shown(-62'167'219'200), "0000-01-01 00:00:00");
    EXPECT_EQ(shown(-30'641'760'000), "0999-01-01 00:00:00");
    EXPECT_EQ(shown(253'402'300'799), "9999-12-31 23:59:59");
    EXPECT_EQ(shown(253'402'300'800), "10000-01-01 00:00:00");
    EXPECT_FALSE(shown(std::numeric_limits<std::int64_t>::max()).empty());
    EXPECT_FALSE(shown(std::numeric_limits<std::int64_t>::min()).empty());
    std::string out;
    EXPECT_FALSE(append_time(out, 0, "%"));
    EXPECT_FALSE(append_time(out, 0, "%c"));
    EXPECT_FALSE(append_time(out, 0, "%Y-%c"));
    EXPECT_EQ(out, "") << "not a part of it either";
}

TEST(Type, WritesEachPartOfADate) {
    std::string out;
    EXPECT_TRUE(append_time(out, 951'782'400, "%y %e %j %B %b %A %a %% at %H:%M"));
    EXPECT_EQ(out, "00 29 060 February Feb Tuesday Tue % at 00:00");
    out.clear();
    EXPECT_TRUE(append_time(out, 1'000'000'000, "%Y-%m-%dT%H:%M:%S %e %j"));
    EXPECT_EQ(out, "2001-09-09T01:46:40 9 252");
    out = "on ";
    const std::string long_text(90, '.');
    EXPECT_TRUE(append_time(out, 951'782'400, long_text + "%A" + long_text + "%d"));
    EXPECT_EQ(out, "on " + long_text + "Tuesday" + long_text + "29");
    EXPECT_FALSE(append_time(out, 951'782'400, long_text + "%c"));
    EXPECT_EQ(out, "on " + long_text + "Tuesday" + long_text + "29") << "as it was";
    out.clear();
    EXPECT_TRUE(append_time(out, 0, ""));
    EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace tiderace::text

#include "server/live/top.h"

#include <gtest/gtest.h>

namespace tiderace::server {
namespace {

constexpr std::string_view text =
    "uptime_us 2500000\nin_flight 3\nanswered 1 \nanswered 41 one.example\n\nsites  1\n";

TEST(Top, ReadsWhatTheServerSays) {
    const auto sample = read_sample(text);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->uptime, Duration(2'500ms));
    EXPECT_EQ(sample->in_flight, 3U);
    EXPECT_EQ(sample->answered,
              (std::map<std::string, std::uint64_t>{{"", 1}, {"one.example", 41}}));
    EXPECT_EQ(sample->status, "sites  1\n");
    for (const std::string_view other :
         {"", "\r", "HTTP", "a b\n\n", "answered x one\n\n", "uptime_us -1\n\n", "in_flight 3\n"}) {
        EXPECT_FALSE(read_sample(other)) << other;
    }
}

TEST(Top, RatesAreOfTheServersTimeAndTheMostComesFirst) {
    const TopSample before{
        .uptime = 10s, .in_flight = 0, .answered = {{"", 5}, {"a", 100}, {"b", 100}, {"gone", 7}}};
    const TopSample now{.uptime = 12s,
                        .in_flight = 3,
                        .answered = {{"", 5}, {"a", 101}, {"b", 300}, {"gone", 1}, {"new\x1b", 4}},
                        .status = "loops  1\n"};
    EXPECT_EQ(top_text(before, now, 100),
              "loops  1\n"
              "requests/s     102.5, 3 in flight\n"
              "               100.0  b\n"
              "                 2.0  new?\n"
              "                 0.5  a\n"
              "                 0.0  gone\n");
    EXPECT_EQ(top_text(before, now, 3),
              "loops  1\n"
              "requests/s     102.5, 3 in flight\n"
              "               100.0  b\n");
    // The server was started again.
    EXPECT_NE(top_text(now, before, 100).find("requests/s       0.0, 0 in flight\n"),
              std::string::npos);
}

TEST(Top, WithoutMetricsNothingIsCounted) {
    EXPECT_EQ(top_text({}, {.status = "loops  1\n"}, 100),
              "loops  1\nrequests/s    not counted: [metrics] in the file counts them\n");
}

}  // namespace
}  // namespace tiderace::server

#include "tiderace/metrics/exemplars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tiderace/metrics/buckets.h"

namespace tiderace::metrics {
namespace {

constexpr std::string_view trace = "4bf92f3577b34da6a3ce929d0e0e4736";
using All = Exemplars<Durations>;

std::string page_of(const All& exemplars, PageFormat format) {
    HistogramValue value = Durations::empty();
    exemplars.add_to(value);
    Page page(format);
    page.begin(Type::histogram, "wait_seconds", "Waits.");
    page.histogram({}, value);
    return std::move(page).take();
}

TEST(Exemplars, OpenMetricsHasThemBehindTheirBuckets) {
    All all;
    all.keep(1, trace, 7'500'000, 1'764'411'300);
    EXPECT_THAT(page_of(all, PageFormat::open_metrics),
                ::testing::HasSubstr("\nwait_seconds_bucket{le=\"0.01\"} 0 # {trace_id=\"" +
                                     std::string(trace) + "\"} 0.0075 1764411300\n"));
    EXPECT_THAT(page_of(all, PageFormat::open_metrics),
                ::testing::HasSubstr("\nwait_seconds_bucket{le=\"0.005\"} 0\n"));
    EXPECT_THAT(page_of(all, PageFormat::prometheus),
                ::testing::Not(::testing::HasSubstr("trace")));
}

TEST(Exemplars, TheNewestOfTheLoopsIsShown) {
    All one;
    All other;
    one.keep(0, trace, 1, 20);
    other.keep(0, std::string(32, 'a'), 2, 10);
    other.keep(2, std::string(32, 'b'), 3, 10);
    HistogramValue value = Durations::empty();
    one.add_to(value);
    other.add_to(value);
    EXPECT_EQ(value.exemplars[0]->trace, trace);
    EXPECT_FALSE(value.exemplars[1]);
    EXPECT_EQ(value.exemplars[2]->trace, std::string(32, 'b'));
}

TEST(Looks, EachBucketHasSomeInASecond) {
    Looks<Durations> looks;
    for (const UnixSeconds now : {0, 1, 1'764'411'300}) {
        for (const std::size_t bucket : {std::size_t{0}, Durations::size - 1}) {
            int taken = 0;
            for (int i = 0; i < 100; ++i) taken += looks.take(bucket, now);
            EXPECT_EQ(taken, Looks<Durations>::looks_per_second_max);
        }
    }
}

TEST(Exemplars, AReaderNeverSeesHalfOfOne) {
    All all;
    std::thread writer([&] {
        for (std::uint64_t i = 1; i <= 200'000; ++i) {
            const char digit = i % 2 == 0 ? 'a' : 'b';
            all.keep(0, std::string(32, digit), i % 2, static_cast<UnixSeconds>(i % 2));
        }
    });
    std::uint64_t seen = 0;
    do {
        const auto one = all.of(0);
        if (!one) continue;
        ++seen;
        const bool is_odd = one->when == 1;
        EXPECT_EQ(one->trace, std::string(32, is_odd ? 'b' : 'a'));
        EXPECT_EQ(one->value, is_odd ? 1e-9 : 0);
    } while (seen < 1'000);
    writer.join();
}

}  // namespace
}  // namespace tiderace::metrics

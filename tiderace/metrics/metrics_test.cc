#include "tiderace/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tiderace::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, ManyThreadsLoseNothing) {
    Counter counter;
    Gauge gauge;
    Histogram histogram({1, 2});
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < threads_max + 8; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 1'000; ++n) {
                counter.add(2);
                gauge.add(1);
                histogram.observe(n % 3);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    const std::uint64_t calls = 1'000 * (threads_max + 8);
    EXPECT_EQ(counter.value(), 2 * calls);
    EXPECT_EQ(gauge.value(), static_cast<double>(calls));
    const HistogramValue value = histogram.value();
    EXPECT_EQ(value.counts[0] + value.counts[1] + value.counts[2], calls);
    EXPECT_EQ(value.counts[2], 0u) << "2 is at most 2";
    EXPECT_EQ(value.sum, 999.0 * (threads_max + 8));
}

TEST(Metrics, OneNameAndItsLabelsAreOneSeries) {
    Registry registry;
    Counter& news = registry.counter("mails_total", "Mails.", {{"kind", "news"}});
    registry.counter("mails_total", "Mails.", {{"kind", "other"}}).add(3);
    EXPECT_EQ(&registry.counter("mails_total", "Mails.", {{"kind", "news"}}), &news);
    news.add();
    registry.gauge("queue", "Waiting.").set(2.5);
    registry.histogram("size_bytes", "Sizes.", {10}).observe(11);
    registry.add_source([](Page& page) {
        page.begin(Type::gauge, "more", "More.");
        page.value({}, std::uint64_t{1});
    });
    EXPECT_EQ(registry.page(PageFormat::prometheus),
              "# HELP mails_total Mails.\n# TYPE mails_total counter\n"
              "mails_total{kind=\"news\"} 1\nmails_total{kind=\"other\"} 3\n"
              "# HELP queue Waiting.\n# TYPE queue gauge\nqueue 2.5\n"
              "# HELP size_bytes Sizes.\n# TYPE size_bytes histogram\n"
              "size_bytes_bucket{le=\"10.0\"} 0\nsize_bytes_bucket{le=\"+Inf\"} 1\n"
              "size_bytes_count 1\nsize_bytes_sum 11.0\n"
              "# HELP more More.\n# TYPE more gauge\nmore 1\n");
}

TEST(Metrics, LabelsOfAClientsMakingDoNotGrowThePage) {
    Registry registry;
    for (std::size_t i = 0; i < 2 * Registry::series_max; ++i) {
        registry.counter("a_total", "A.", {{"user", std::to_string(i)}}).add();
    }
    const std::string page = registry.page(PageFormat::prometheus);
    EXPECT_EQ(std::ranges::count(page, '\n'), 2 + Registry::series_max);
    EXPECT_THAT(page, HasSubstr("a_total{user=\"9999\"} 1\n"));
    EXPECT_THAT(page, Not(HasSubstr("{user=\"10000\"}")));
}

TEST(MetricsDeath, WhatCannotBeAborts) {
    Registry registry;
    registry.counter("a_total", "A.");
    EXPECT_DEATH(registry.counter("a", "A."), "_total");
    EXPECT_DEATH(registry.gauge("a_total", "A."), "_total");
    EXPECT_DEATH(registry.gauge("a b", "A."), "name of a metric");
    EXPECT_DEATH(registry.gauge("a", "A.", {{"le", "1"}}), "name of a label");
    registry.gauge("b", "B.");
    EXPECT_DEATH(registry.histogram("b", "B."), "type of others");
}

}  // namespace
}  // namespace tiderace::metrics

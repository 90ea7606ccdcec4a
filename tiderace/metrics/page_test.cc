#include "tiderace/metrics/page.h"

#include <gtest/gtest.h>

namespace tiderace::metrics {
namespace {

std::string page(PageFormat format) {
    Page page(format);
    page.begin(Type::counter, "a_total", "Of\n\"a\".");
    page.value({}, std::uint64_t{7});
    page.value({{"x", "1\\\"\n"}, {"y", "z"}}, 0.5);
    page.begin(Type::histogram, "b_seconds", "b");
    page.histogram({{"x", "1"}}, {.bounds = {0.005, 1}, .counts = {1, 2, 3}, .sum = 9});
    return std::move(page).take();
}

TEST(MetricsPage, IsTheTextOfPrometheus) {
    EXPECT_EQ(page(PageFormat::prometheus),
              "# HELP a_total Of\\n\"a\".\n# TYPE a_total counter\n"
              "a_total 7\n"
              "a_total{x=\"1\\\\\\\"\\n\",y=\"z\"} 0.5\n"
              "# HELP b_seconds b\n# TYPE b_seconds histogram\n"
              "b_seconds_bucket{x=\"1\",le=\"0.005\"} 1\n"
              "b_seconds_bucket{x=\"1\",le=\"1.0\"} 3\n"
              "b_seconds_bucket{x=\"1\",le=\"+Inf\"} 6\n"
              "b_seconds_count{x=\"1\"} 6\n"
              "b_seconds_sum{x=\"1\"} 9.0\n");
}

TEST(MetricsPage, OpenMetricsHasUnitsAndAnEnd) {
    const std::string text = page(PageFormat::open_metrics);
    EXPECT_TRUE(text.starts_with("# HELP a Of\\n\\\"a\\\".\n# TYPE a counter\na_total 7\n"))
        << text;
    EXPECT_TRUE(text.contains("# TYPE b_seconds histogram\n# UNIT b_seconds seconds\n"));
    EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST(MetricsPage, TheFormatIsWhatIsAskedFor) {
    EXPECT_EQ(page_format(""), PageFormat::prometheus);
    EXPECT_EQ(page_format("text/plain;version=0.0.4"), PageFormat::prometheus);
    EXPECT_EQ(page_format("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
              PageFormat::open_metrics);
}

TEST(MetricsPage, NamesAreThoseOfPrometheus) {
    EXPECT_TRUE(is_metric_name("a:b_1"));
    EXPECT_FALSE(is_metric_name("1a"));
    EXPECT_FALSE(is_metric_name(""));
    EXPECT_FALSE(is_metric_name("a-b"));
    EXPECT_TRUE(is_label_name("a_1"));
    EXPECT_FALSE(is_label_name("a:b"));
    EXPECT_FALSE(is_label_name("le"));
}

}  // namespace
}  // namespace tiderace::metrics

#include "tiderace/metrics/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tiderace::metrics {
namespace {

TEST(ProcessMetrics, HasTheStandardNames) {
    Page page(PageFormat::open_metrics);
    add_process(page);
    const std::string text = std::move(page).take();
    EXPECT_THAT(text, ::testing::HasSubstr("\nprocess_cpu_seconds_total "));
    EXPECT_THAT(text, ::testing::HasSubstr("\nprocess_max_fds "));
#if defined(__linux__)
    EXPECT_THAT(text, ::testing::HasSubstr("\n# UNIT process_resident_memory_bytes bytes\n"));
    EXPECT_THAT(text, ::testing::HasSubstr("\nprocess_start_time_seconds 1"));
    EXPECT_THAT(text, ::testing::HasSubstr("\nprocess_open_fds "));
#endif
}

}  // namespace
}  // namespace tiderace::metrics

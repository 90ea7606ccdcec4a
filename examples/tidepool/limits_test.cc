#include "examples/tidepool/limits.h"

#include <gtest/gtest.h>
#include <tiderace/task.h>

#include <optional>
#include <string>

#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;

class LimitsTest : public TidepoolTest {
  protected:
    // How many of three requests at one time are let through.
    int passed(std::string key, SharedLimits::Rate rate) {
        return tiderace::run(
            [](db::Database db, std::string of, SharedLimits::Rate with) -> Task<int> {
                SharedLimits limits(task::Context::here().runner->loop(), db, std::nullopt);
                const auto [a, b, c] = co_await when_all(
                    limits.take(of, with), limits.take(of, with), limits.take(of, with));
                co_return int{!a} + int{!b} + int{!c};
            }(*db_, std::move(key), rate));
    }
};

TEST_P(LimitsTest, TheFirstRequestsOfAKeyMayComeAtOnce) {
    EXPECT_EQ(passed("three", {.per_minute = 1, .burst = 3}), 3);
    EXPECT_EQ(passed("three", {.per_minute = 1, .burst = 3}), 0);
    EXPECT_EQ(passed("two", {.per_minute = 1, .burst = 2}), 2);
    EXPECT_EQ(passed("one", {.per_minute = 1, .burst = 1}), 1);
}

INSTANTIATE_TEST_SUITE_P(On, LimitsTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool

#include "tiderace/core/contain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"

namespace tiderace::core {
namespace {

class ContainTest : public ::testing::Test {
  protected:
    log::Doorbell bell_;
    log::Ring ring_{16_KiB, bell_};
    struct Time final : log::TimeSource {
        std::int64_t unix_ms() override { return ms; }
        std::int64_t ms = 1'000'000;
    };
    Time time_;
    log::Logger logger_{ring_, time_};
};

TEST_F(ContainTest, LetsACallThroughThatDoesNotThrow) {
    int calls = 0;
    EXPECT_TRUE(contain(&logger_, "http", "a handler", [&] { ++calls; }));
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(log::take_all(ring_), "");
}

TEST_F(ContainTest, SaysInOneLineWhatWasThrown) {
    EXPECT_FALSE(
        contain(&logger_, "http", "a handler", [] { throw std::runtime_error("no such user"); }));
    const std::string line = log::take_all(ring_);
    EXPECT_THAT(line, ::testing::HasSubstr("a handler"));
    EXPECT_THAT(line, ::testing::HasSubstr("no such user"));
    EXPECT_EQ(std::ranges::count(line, '\n'), 1);
    EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr("more_before"))) << "none was left out";
}

TEST_F(ContainTest, TakesAnythingThatCanBeThrown) {
    EXPECT_FALSE(contain(&logger_, "core", "a task", [] { throw 7; }));
    EXPECT_THAT(log::take_all(ring_), ::testing::HasSubstr("not a std::exception"));
    EXPECT_FALSE(contain(&logger_, "core", "a task", [] { throw std::bad_alloc(); }));
    EXPECT_THAT(log::take_all(ring_), ::testing::HasSubstr("bad_alloc"));
}

TEST_F(ContainTest, AStormOfThemIsOneLineASecond) {
    const auto no_memory = [] { throw std::bad_alloc(); };
    for (int i = 0; i < 1'000; ++i) contain(&logger_, "net", "a session", no_memory);
    const std::string first = log::take_all(ring_);
    EXPECT_EQ(std::ranges::count(first, '\n'), 1) << first;
    time_.ms += 1'000;
    for (int i = 0; i < 3; ++i) contain(&logger_, "http", "a handler", no_memory);
    const std::string second = log::take_all(ring_);
    EXPECT_EQ(std::ranges::count(second, '\n'), 1) << second;
    EXPECT_THAT(second, ::testing::HasSubstr("more_before=999"));
}

TEST_F(ContainTest, ASingleOneThatWasLeftOutIsCounted) {
    const auto fault = [] { throw std::runtime_error("no such user"); };
    for (int i = 0; i < 2; ++i) contain(&logger_, "http", "a handler", fault);
    log::take_all(ring_);
    time_.ms += 1'000;
    contain(&logger_, "http", "a handler", fault);
    EXPECT_THAT(log::take_all(ring_), ::testing::HasSubstr("more_before=1"));
}

TEST_F(ContainTest, LackOfMemoryDoesNotHideAFaultOfAnotherKind) {
    contain(&logger_, "net", "a session", [] { throw std::bad_alloc(); });
    contain(&logger_, "http", "a handler", [] { throw std::runtime_error("no such user"); });
    const std::string lines = log::take_all(ring_);
    EXPECT_THAT(lines, ::testing::HasSubstr("bad_alloc"));
    EXPECT_THAT(lines, ::testing::HasSubstr("no such user"));
}

TEST_F(ContainTest, NeedsNoLog) {
    EXPECT_FALSE(contain(nullptr, "core", "a task", [] { throw 7; }));
}

}  // namespace
}  // namespace tiderace::core

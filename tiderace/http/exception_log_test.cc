#include "tiderace/http/exception_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tiderace/http/site_loop.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ExceptionLogTest : public ::testing::Test {
  protected:
    ExceptionLogTest() { world.loop().set_log(&to_); }
    ~ExceptionLogTest() override { world.loop().set_log(nullptr); }

    void fail(const std::string& message) {
        const auto exchange = core::make_ref<testing::RecordedExchange>(world.loop(), "GET", "/");
        try {
            throw std::runtime_error(message);
        } catch (...) {
            log->write(*exchange, "a handler");
        }
    }
    std::string lines() { return log::take_all(ring_); }
    std::size_t count_lines() {
        const std::string all = lines();
        return static_cast<std::size_t>(std::ranges::count(all, '\n'));
    }

    testing::FakeWorld world;
    std::optional<ExceptionLog> log{std::in_place};

  private:
    log::SystemTime time_;
    log::Doorbell bell_;
    log::Ring ring_{1_MiB, bell_};
    log::Logger to_{ring_, time_};
};

TEST_F(ExceptionLogTest, IdenticalOnesAreOneLineAndTheirNumber) {
    for (int i = 0; i < 312; ++i) fail("the stock is empty");
    EXPECT_EQ(count_lines(), 1u);
    world.advance(FoldedLog::fold_time + 1s);
    EXPECT_THAT(lines(), HasSubstr("the same exception again count=311 by=\"a handler\" route=\"\" "
                                   "type=std::runtime_error what=\"the stock is empty\"\n"));
    fail("the stock is empty");
    EXPECT_THAT(lines(), HasSubstr("an exception was caught"));
    world.advance(FoldedLog::fold_time + 1s);
    EXPECT_EQ(lines(), "") << "it came once";
}

TEST_F(ExceptionLogTest, OthersAreLinesOfTheirOwnUpToALimit) {
    for (std::size_t i = 0; i < 1'000; ++i) fail("request " + std::to_string(i));
    EXPECT_EQ(count_lines(), FoldedLog::kinds_max);
    world.advance(FoldedLog::fold_time + 1s);
    EXPECT_THAT(lines(), HasSubstr("which were not logged count=968\n"));
}

TEST_F(ExceptionLogTest, ItsEndReportsWhatItHeldBack) {
    fail("a");
    fail("a");
    lines();
    log.reset();
    EXPECT_THAT(lines(), HasSubstr("the same exception again count=1 "));
}

TEST_F(ExceptionLogTest, AHugeMessageIsCutAndForgesNothing) {
    std::string huge;
    for (int i = 0; i < 100'000; ++i) huge += "\n\"\x01";
    fail(huge);
    const std::string line = lines();
    EXPECT_EQ(std::ranges::count(line, '\n'), 1);
    EXPECT_LT(line.size(), 4_KiB);
    EXPECT_THAT(line, HasSubstr("type=std::runtime_error what=\"\\n"));
    EXPECT_THAT(line, Not(HasSubstr("truncated")));
}

}  // namespace
}  // namespace tiderace::http

#include "tiderace/serve/watchdog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/log/collecting_sink.h"
#include "tiderace/log/writer.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::serve {
namespace {

#if defined(__linux__) && __has_include(<execinfo.h>)
constexpr bool shows_stacks = true;
#else
constexpr bool shows_stacks = false;
#endif

// On its next call, lets an allocation of the thread that calls it fail.
class ScarceTime final : public log::TimeSource {
  public:
    std::int64_t unix_ms() override {
        if (const std::uint64_t nth = nth_.exchange(0)) scarce_.emplace(nth);
        return 0;
    }
    void fail_after_next_line(std::uint64_t nth) { nth_ = nth; }

  private:
    std::atomic<std::uint64_t> nth_ = 0;
    std::optional<testing::ScarceMemory> scarce_;
};

// A loop on a thread of its own, and a watchdog whose lines are collected.
class WatchdogTest : public ::testing::Test {
  protected:
    WatchdogTest() {
        log::Stream& stream =
            writer_.add_stream("diagnostics", std::make_unique<log::CollectingSink>(lines_));
        EXPECT_TRUE(writer_.start());
        auto started =
            Watchdog::start(20ms, std::make_unique<log::Logger>(stream.add_ring(64_KiB), time_));
        EXPECT_TRUE(started);
        watchdog_ = std::move(*started);
        post_.emplace(*watchdog_, *loop_);
        thread_ = std::thread([this] { loop_->run(); });
    }
    ~WatchdogTest() override {
        loop_->request_stop();
        thread_.join();
        post_.reset();
        watchdog_.reset();
        writer_.stop();
    }

    // The loop is blocked until it was reported `count` times in all.
    void block_until_reported(std::ptrdiff_t count) {
        // Naps, because ThreadSanitizer runs a signal's handler in calls that it knows, and a
        // semaphore's wait is none of them.
        ASSERT_TRUE(loop_->post([this] {
            while (!go_.try_acquire()) std::this_thread::sleep_for(1ms);
        }));
        wait_for("a handler blocks its loop", count);
    }
    void go_on(std::ptrdiff_t count) {
        go_.release();
        wait_for("turns again", count);
    }
    void wait_for(const std::string& text, std::ptrdiff_t count) {
        const auto seen = [&] {
            return std::ranges::count_if(
                lines_->all(), [&](const std::string& line) { return line.contains(text); });
        };
        while (seen() < count) std::this_thread::sleep_for(1ms);
    }

    std::shared_ptr<log::CollectingSink::Lines> lines_ =
        std::make_shared<log::CollectingSink::Lines>();
    ScarceTime time_;
    log::SystemTime writers_time_;
    log::Writer writer_{writers_time_, {.flush_interval = 1ms}};
    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    std::counting_semaphore<> go_{0};
    std::unique_ptr<Watchdog> watchdog_;
    std::optional<Watchdog::Post> post_;
    std::thread thread_;
};

TEST_F(WatchdogTest, ABlockedLoopIsReportedOnceEachTimeWithItsStack) {
    for (std::ptrdiff_t count = 1; count <= 3; ++count) {
        block_until_reported(count);
        go_on(count);
    }
    const std::vector<std::string> lines = lines_->all();
    const auto is_report = [](const std::string& line) {
        return line.contains("a handler blocks its loop");
    };
    EXPECT_EQ(std::ranges::count_if(lines, is_report), 3);
    if (!shows_stacks) return;
    // Each frame is a line, behind the report and before the end of the block.
    const auto report = std::ranges::find_if(lines, is_report);
    EXPECT_TRUE(std::next(report)->contains("frame")) << *std::next(report);
}

// Nothing above its thread catches what it throws.
TEST_F(WatchdogTest, ItGoesOnWhereItHasNoMemory) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    block_until_reported(1);
    for (std::uint64_t nth = 1; nth <= 8; ++nth) {
        const auto count = static_cast<std::ptrdiff_t>(nth);
        time_.fail_after_next_line(nth);
        go_on(count);
        block_until_reported(count + 1);
    }
    go_on(9);
}

// std::thread reports it by another exception than a limit of threads.
TEST(WatchdogStart, AThreadThatThereIsNoMemoryForIsAnError) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    log::SystemTime time;
    log::Writer writer(time, {});
    log::Stream& stream = writer.add_stream(
        "diagnostics",
        std::make_unique<log::CollectingSink>(std::make_shared<log::CollectingSink::Lines>()));
    std::string message;
    for (std::uint64_t nth = 1; message.empty() && nth < 20; ++nth) {
        auto logger = std::make_unique<log::Logger>(stream.add_ring(64_KiB), time);
        const testing::ScarceMemory scarce(nth);
        try {
            const auto started = Watchdog::start(1h, std::move(logger));
            ASSERT_TRUE(!started || !scarce.failed());
            if (started) break;
            message = started.error().message();
        } catch (const std::bad_alloc&) {  // before the thread: App::serve's caller has it
        }
    }
    EXPECT_TRUE(message.starts_with("start the watchdog's thread: ")) << message;
}

}  // namespace
}  // namespace tiderace::serve

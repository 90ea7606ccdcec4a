#include "examples/kv/append_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>

#include <stdlib.h>

#include <tiderace/core/event_loop.h>

namespace kv {
namespace {

using namespace std::chrono_literals;

class AppendLogTest : public ::testing::Test {
  protected:
    AppendLogTest() {
        std::string name = (std::filesystem::temp_directory_path() / "kv_log_XXXXXX").string();
        folder = ::mkdtemp(name.data());
    }
    ~AppendLogTest() override {
        log.reset();
        std::error_code ignored;  // the pool may be writing still
        std::filesystem::remove_all(folder, ignored);
    }
    std::string kept(std::uint64_t number = 0) const {
        std::ifstream file(log_path(folder, number));
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::string folder;
    std::unique_ptr<core::EventLoop> loop = std::move(*core::EventLoop::create({}));
    core::WorkerPool pool{1, 8};
    std::unique_ptr<AppendLog> log = std::make_unique<AppendLog>(
        *loop, pool, AppendLog::Hooks{.started = [] {}, .ended = [this] { ++answered; }});
    int answered = 0;
};

// Otherwise a crash of the machine could leave a torn log with whole commands in the one behind it.
class RotationTest : public AppendLogTest, public ::testing::WithParamInterface<Sync> {};

TEST_P(RotationTest, TheNextLogTakesNothingBeforeTheOneBeforeItIsSynced) {
    ASSERT_TRUE(log->open(folder, 0, GetParam()));
    log->append("one\n");
    loop->turn(0ms);
    EXPECT_EQ(kept(0), "one\n");
    std::promise<void> gate;
    ASSERT_TRUE(pool.submit([opened = gate.get_future()] { opened.wait(); }));  // its only thread
    ASSERT_TRUE(log->rotate(1));
    log->append("two\n");
    const int before = answered;
    for (int i = 0; i < 3; ++i) loop->turn(0ms);
    EXPECT_EQ(kept(1), "");
    EXPECT_TRUE(log->holds_answers());
    EXPECT_EQ(answered, before);
    ASSERT_TRUE(log->rotate(2));
    log->append("three\n");
    for (int i = 0; i < 3; ++i) loop->turn(0ms);
    EXPECT_EQ(kept(1) + kept(2), "");
    gate.set_value();
    while (log->holds_answers()) loop->turn(10ms);
    EXPECT_EQ(kept(0), "one\n");
    EXPECT_EQ(kept(1), "two\n");
    EXPECT_EQ(kept(2), "three\n");
    EXPECT_EQ(answered, before + 1);
    EXPECT_FALSE(log->failed());
}

TEST_P(RotationTest, ALogThatEndsMeanwhileKeepsAll) {
    ASSERT_TRUE(log->open(folder, 0, GetParam()));
    log->append("one\n");
    loop->turn(0ms);
    std::promise<void> gate;
    ASSERT_TRUE(pool.submit([opened = gate.get_future()] { opened.wait(); }));
    ASSERT_TRUE(log->rotate(1));
    log->append("two\n");
    loop->turn(0ms);
    gate.set_value();
    log.reset();
    EXPECT_EQ(kept(0), "one\n");
    EXPECT_EQ(kept(1), "two\n");
}

INSTANTIATE_TEST_SUITE_P(AppendLog, RotationTest, ::testing::Values(Sync::everysec, Sync::no),
                         [](const auto& each) {
                             return std::string(each.param == Sync::no ? "No" : "Everysec");
                         });

// Under a thread sanitizer this is also a test of what the two share.
TEST_F(AppendLogTest, IsWrittenToWhileItIsSynced) {
    ASSERT_TRUE(log->open(folder, 0, Sync::everysec));
    std::string all;
    for (int i = 0; i < 400; ++i) {
        const std::string command = "command " + std::to_string(i) + "\n";
        log->append(command);
        all += command;
        // A second's, so that a sync begins with each of these turns.
        for (int tick = 0; tick < 10; ++tick) log->tick();
        loop->turn(0ms);
    }
    EXPECT_EQ(kept(), all);
    EXPECT_EQ(log->bytes(), all.size());
    EXPECT_FALSE(log->failed());
}

}  // namespace
}  // namespace kv

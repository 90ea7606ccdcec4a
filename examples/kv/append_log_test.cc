#include "examples/kv/append_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <stdlib.h>

#include <tiderace/core/event_loop.h>
#include <tiderace/core/worker_pool.h>

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
    std::string kept() const {
        std::ifstream file(log_path(folder, 0));
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::string folder;
    std::unique_ptr<core::EventLoop> loop = std::move(*core::EventLoop::create({}));
    core::WorkerPool pool{1, 8};
    std::unique_ptr<AppendLog> log = std::make_unique<AppendLog>(
        *loop, pool, AppendLog::Hooks{.started = [] {}, .ended = [] {}});
};

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

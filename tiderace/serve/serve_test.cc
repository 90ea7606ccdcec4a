#include "tiderace/serve/serve.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "tiderace/core/cpu_count.h"
#include "tiderace/http/app/app.h"

namespace tiderace::http {
namespace {

TEST(AppServe, WithoutANumberOfThreadsEachUsableCpuHasALoopWithItsOwnState) {
    struct Counter {
        int value = 0;
    };
    std::mutex lock;
    std::set<const core::EventLoop*> loops;
    std::set<const Counter*> counters;
    App app;
    app.state<Counter>([&](core::EventLoop& loop) {
        auto made = std::make_unique<Counter>();
        const std::lock_guard held(lock);
        loops.insert(&loop);
        counters.insert(made.get());
        return made;
    });
    const auto end = [&](const std::vector<core::Address>& at) {
        EXPECT_EQ(at.size(), 1u);
        app.drain();
    };
    EXPECT_EQ(app.serve({.listen = "127.0.0.1:0", .on_listening = end}), 0);
    EXPECT_EQ(loops.size(), core::count_cpus().usable);
    EXPECT_EQ(counters.size(), loops.size());
}

}  // namespace
}  // namespace tiderace::http

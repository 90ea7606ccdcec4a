#include "tiderace/serve/serve.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tiderace/core/cpu_count.h"
#include "tiderace/http/app/app.h"
#include "tiderace/task/sleep.h"
#include "tiderace/tcp/connect.h"

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

// It would hold up the drain until its deadline, and be cut off there.
TEST(AppServe, DrainingEndsAnEventStreamInOrder) {
    App app;
    app.get<"/events">([]() -> Events {
        co_yield {.data = "ebb"};
        co_await task::sleep(1h);
    });
    std::string place, heard;
    const auto listen = [&]() -> task::Task<> {
        auto stream = co_await tcp::connect(place);
        EXPECT_TRUE(stream);
        if (!stream) co_return app.drain();
        co_await stream->write("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
        while (auto bytes = co_await stream->read()) {
            heard += *bytes;
            if (heard.ends_with("data: ebb\n\n\r\n")) app.drain();
        }
    };
    app.background(listen, {.grace = 1h});
    EXPECT_EQ(app.serve({.listen = "127.0.0.1:0",
                         .threads = 1,
                         .drain = 1h,
                         .on_listening = [&](const auto& at) { place = at[0].to_string(); }}),
              0);
    EXPECT_TRUE(heard.ends_with("data: ebb\n\n\r\n0\r\n\r\n")) << heard;
}

// In a process of its own, whose user may have one thread beside the first: the log's.
TEST(AppServe, AThreadThatTheMachineRefusesIsOneSentence) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user without other threads";
    EXPECT_EXIT(
        {
            rlimit two{};
            two.rlim_cur = two.rlim_max = 2;
            ::setrlimit(RLIMIT_NPROC, &two);
            if (::setuid(54'323) != 0) std::_Exit(2);
            App app;
            std::_Exit(app.serve({.listen = "127.0.0.1:0",
                                  .threads = 1,
                                  .watchdog = 1s,
                                  .on_listening = [](const auto&) { std::_Exit(3); }}));
        },
        ::testing::ExitedWithCode(1), "app: start the .* thread: .*no further thread is allowed");
}

}  // namespace
}  // namespace tiderace::http

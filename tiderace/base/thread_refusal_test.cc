#include "tiderace/base/thread_refusal.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tiderace {
namespace {

TEST(ThreadRefusal, IsNothingWhereTheThreadRuns) {
    std::thread thread;
    EXPECT_EQ(thread_refusal([&] { thread = std::thread([] {}); }), 0);
    thread.join();
}

TEST(ThreadRefusal, IsWhatTheMachineSays) {
    const auto refuse = [] {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    };
    EXPECT_EQ(thread_refusal(refuse), EAGAIN);
    EXPECT_EQ(thread_refusal([] { throw std::bad_alloc(); }), ENOMEM);
}

TEST(ThreadRefusal, LeavesThoseThatWereMade) {
    std::vector<std::thread> threads;
    EXPECT_EQ(thread_refusal([&] {
                  threads.emplace_back([] {});
                  throw std::bad_alloc();
              }),
              ENOMEM);
    ASSERT_EQ(threads.size(), 1U);
    threads[0].join();
}

}  // namespace
}  // namespace tiderace

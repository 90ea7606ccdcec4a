#include "tiderace/metrics/thread_cell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace tiderace::metrics {
namespace {

TEST(ThreadCell, ThreadsThatRunHaveOneEachAndThoseThatEndedGiveTheirsBack) {
    for (int round = 0; round < 3; ++round) {
        std::atomic<unsigned> ready = 0;
        std::vector<unsigned> cells(threads_max + 4);
        std::vector<std::thread> threads;
        for (unsigned& cell : cells) {
            threads.emplace_back([&] {
                cell = thread_cell();
                ++ready;
                while (ready < cells.size()) std::this_thread::yield();
            });
        }
        for (std::thread& thread : threads) thread.join();
        std::multiset<unsigned> seen(cells.begin(), cells.end());
        for (unsigned cell = 0; cell < threads_max; ++cell) EXPECT_LE(seen.count(cell), 1u);
        // This thread may have one, from another test.
        EXPECT_GE(seen.count(threads_max), 4u);
        EXPECT_LE(seen.count(threads_max), 5u);
    }
}

}  // namespace
}  // namespace tiderace::metrics

#include "tiderace/metrics/own_cpu.h"

#include <gtest/gtest.h>

#include <thread>

namespace tiderace::metrics {
namespace {

// Until the thread has used so much: no other thread's work counts.
void work() {
    const Duration before = own_thread_cpu();
    while (own_thread_cpu() - before < 5ms) {
    }
}

TEST(OwnCpu, AProcessHasUsedWhatItsThreadsHave) {
    if (own_thread_cpu() == Duration::zero()) GTEST_SKIP() << "this system does not count threads";
    const Duration process = own_process_cpu();
    const Duration thread = own_thread_cpu();
    std::thread(work).join();
    EXPECT_GE(own_process_cpu() - process, 4ms);
    EXPECT_LT(own_thread_cpu() - thread, own_process_cpu() - process);
}

}  // namespace
}  // namespace tiderace::metrics

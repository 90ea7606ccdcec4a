#include "tiderace/base/thread_name.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <string>
#include <thread>

namespace tiderace {
namespace {

#if defined(__linux__)
std::string name_after(std::string_view wanted) {
    char name[32] = "";
    std::thread([&] {
        name_this_thread(wanted);
        ::pthread_getname_np(::pthread_self(), name, sizeof name);
    }).join();
    return name;
}

TEST(ThreadName, IsTheThreadsOwnAndCutWhereItMustBe) {
    EXPECT_EQ(name_after("loop 7"), "loop 7");
    EXPECT_EQ(name_after("a name of twenty-one!"), "a name of twent");
}
#else
TEST(ThreadName, IsTakenOrLeft) {
    std::thread([] { name_this_thread("a name of twenty-one!"); }).join();
}
#endif

}  // namespace
}  // namespace tiderace

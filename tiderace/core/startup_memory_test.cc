#include "tiderace/core/startup_memory.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace tiderace::core {
namespace {

constexpr std::size_t page_bytes = 4096;

// Pages of the program's file, far more than one call of ours needs.
extern const char pages[64 * page_bytes];
alignas(page_bytes) constexpr char pages[64 * page_bytes] = {1};

char read_page(std::size_t number) {
    return *const_cast<const volatile char*>(&pages[number * page_bytes]);
}

std::size_t pages_in_memory() {
    std::ifstream maps("/proc/self/smaps");
    const auto wanted = reinterpret_cast<std::uintptr_t>(&pages[0]);
    bool is_ours = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
            is_ours = begin <= wanted && wanted < end;
        } else if (is_ours && line.starts_with("Rss:")) {
            return std::stoul(line.substr(4)) * 1024 / page_bytes;
        }
    }
    return 0;
}

int touch_all() {
    int sum = 0;
    for (std::size_t number = 0; number < 64; ++number) sum += read_page(number);
    return sum;
}

TEST(StartupMemory, PagesThatAreAsInTheFileAreGivenBackAndComeAgain) {
    if (!std::ifstream("/proc/self/pagemap")) GTEST_SKIP() << "the kernel does not tell of pages";
    EXPECT_EQ(touch_all(), 1);
    const std::size_t before = pages_in_memory();
    ASSERT_GE(before, 64u);
    give_back_startup_memory();
    EXPECT_LE(pages_in_memory() + 32, before);
    EXPECT_EQ(touch_all(), 1);
}

// As a debugger does that sets a breakpoint.
TEST(StartupMemory, AWrittenPageIsKept) {
    char* const page = const_cast<char*>(&pages[8 * page_bytes]);
    ASSERT_EQ(::mprotect(page, page_bytes, PROT_READ | PROT_WRITE), 0);
    *static_cast<volatile char*>(page) = 'x';
    ASSERT_EQ(::mprotect(page, page_bytes, PROT_READ), 0);
    give_back_startup_memory();
    EXPECT_EQ(read_page(8), 'x');
}

}  // namespace
}  // namespace tiderace::core
#endif

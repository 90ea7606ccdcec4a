#include "load/server_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace tiderace::load {
namespace {

namespace fs = std::filesystem;

// A /proc of our own: process 7 listens on 127.0.0.1:8080, process 8 on all addresses, port 81.
class ServerWatchTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = ::testing::TempDir() + "proc-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        proc_ = name;
        const std::string head = "  sl  local_address rem_address   st\n";
        write("net/tcp", head +
                             "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 "
                             "00000000     0        0 1001 1 0\n"
                             "   1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 "
                             "00000000     0        0 1002 1 0\n");
        write("net/tcp6", head +
                              "   0: 00000000000000000000000000000000:0051 "
                              "00000000000000000000000000000000:0000 0A 00000000:00000000 "
                              "00:00000000 00000000     0        0 1003 1 0\n");
        add_process("7", "1001", "100 50", "500");
        add_process("8", "1003", "1 2", "300");
        add_process("9", "1002", "0 0", "1");
        fs::create_directories(proc_ / "self");
    }
    void TearDown() override { fs::remove_all(proc_); }

    void write(const std::string& name, const std::string& text) {
        fs::create_directories((proc_ / name).parent_path());
        std::ofstream(proc_ / name) << text;
    }
    void add_process(const std::string& pid, const std::string& inode, const std::string& times,
                     const std::string& pages) {
        write(pid + "/stat", pid + " (a) b) S 1 1 1 0 -1 4194560 1 0 0 0 " + times + " 0 0 20 0");
        write(pid + "/statm", "1000 " + pages + " 1 1 0 1 0");
        fs::create_directories(proc_ / pid / "fd");
        fs::remove(proc_ / pid / "fd" / "5");
        fs::create_symlink("socket:[" + inode + "]", proc_ / pid / "fd" / "5");
    }
    std::vector<int> listeners(const char* address) {
        return find_listeners(*core::Address::parse(address), proc_);
    }

    fs::path proc_;
};

TEST_F(ServerWatchTest, FindsTheListeningProcess) {
    EXPECT_EQ(listeners("127.0.0.1:8080"), std::vector<int>{7});
    EXPECT_EQ(listeners("127.0.0.2:8080"), std::vector<int>{});
    EXPECT_EQ(listeners("127.0.0.1:81"), std::vector<int>{8});
    EXPECT_EQ(listeners("[::1]:81"), std::vector<int>{8});
    EXPECT_EQ(listeners("127.0.0.1:82"), std::vector<int>{});
}

TEST_F(ServerWatchTest, ReadsWhatOneUses) {
    const auto use = read_use(7, proc_);
    ASSERT_TRUE(use);
    EXPECT_EQ(use->cpu, Duration(1s) * 150 / ::sysconf(_SC_CLK_TCK));
    EXPECT_EQ(use->memory_bytes, 500U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    write("7/smaps_rollup",
          "00400000-7fff [rollup]\nRss:  900 kB\nPss:   400 kB\nPss_Dirty: 7 kB\n");
    EXPECT_EQ(read_use(7, proc_)->memory_bytes, 400U * 1'024) << "shared pages are divided";
    EXPECT_FALSE(read_use(4'000, proc_));
    write("7/stat", "7 (a) Z 1 1 1 0 -1 4194560 1 0 0 0 100 50 0 0 20 0");
    EXPECT_FALSE(read_use(7, proc_)) << "dead, and not yet fetched";
}

TEST_F(ServerWatchTest, ReadsItsOwnUseInTheSystemsProc) {
    const auto use = read_use(::getpid());
    ASSERT_TRUE(use);
    EXPECT_GT(use->cpu, Duration::zero());
    EXPECT_GT(use->memory_bytes, 100'000U);
}

// Something for a CPU to do, that no compiler takes away.
void work() {
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < 3'000'000; ++i) sum = sum + i;
}

TEST(ReadUse, CpuTimeHoldsThatOfThreadsThatEnded) {
    const std::array self{static_cast<int>(::getpid())};
    const Duration before = read_cpu(self);
    std::thread(work).join();
    EXPECT_GT(read_cpu(self), before + 1ms);
}

TEST(ReadUse, MemoryGrowsWithWhatIsTouched) {
    const std::array self{static_cast<int>(::getpid())};
    const std::uint64_t before = read_use(self).memory_bytes;
    const std::vector<char> block(64 << 20, 'x');
    EXPECT_GT(read_use(self).memory_bytes, before + (60 << 20));
    EXPECT_EQ(block.back(), 'x');
}

TEST(ReadUse, AnAbsentProcessUsesNothing) {
    const std::array nobody{-1, 0, 999'999'999};
    EXPECT_EQ(read_cpu(nobody), Duration::zero());
    EXPECT_EQ(read_use(nobody).memory_bytes, 0U);
}

TEST_F(ServerWatchTest, AddsUpTheProcessesOfOneServer) {
    add_process("10", "1001", "10 0", "100");  // a worker beside its master
    ServerWatch watch(*core::Address::parse("127.0.0.1:8080"), 0, proc_);
    add_process("7", "1001", "110 50", "600");
    add_process("10", "1001", "15 5", "200");
    watch.look();
    EXPECT_FALSE(watch.ended());
    // The worker ends, and another one takes its place.
    fs::remove_all(proc_ / "10");
    add_process("11", "1001", "3 0", "50");
    const auto use = watch.finish();
    ASSERT_TRUE(use);
    const auto tick = Duration(1s) / ::sysconf(_SC_CLK_TCK);
    EXPECT_EQ(use->cpu, (10 + 10 + 3) * tick);
    EXPECT_EQ(use->processes, 2U);
    EXPECT_EQ(use->memory_bytes, 800U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    EXPECT_FALSE(watch.ended());
}

TEST_F(ServerWatchTest, CpuTimeCountsFromBeginOn) {
    ServerWatch watch(*core::Address::parse("127.0.0.1:8080"), 0, proc_);
    add_process("7", "1001", "110 50", "900");
    watch.begin();
    add_process("7", "1001", "112 51", "600");
    const auto use = watch.finish();
    ASSERT_TRUE(use);
    EXPECT_EQ(use->cpu, Duration(1s) * 3 / ::sysconf(_SC_CLK_TCK));
    EXPECT_EQ(use->memory_bytes, 900U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    EXPECT_FALSE(watch.ended());
}

TEST_F(ServerWatchTest, SaysThatAServerEnded) {
    ServerWatch watch(core::Address::loopback(1), 7, proc_);
    fs::remove_all(proc_ / "7");
    EXPECT_TRUE(watch.finish());
    EXPECT_TRUE(watch.ended());
}

TEST_F(ServerWatchTest, AddsUpWhatSeveralUse) {
    const std::array pids{7, 8, 4'000};
    const ServerUse use = read_use(pids, proc_);
    EXPECT_EQ(use.processes, 2U);
    EXPECT_EQ(use.cpu, Duration(1s) * 153 / ::sysconf(_SC_CLK_TCK));
    EXPECT_EQ(use.memory_bytes, 800U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

TEST_F(ServerWatchTest, FindsTheProcessesOfAGroup) {
    write("10/stat", "10 (worker) S 7 7 7 0 -1");
    write("11/stat", "11 (odd) name) 7 7) S 1 11 11 0 -1");
    write("12/stat", "12 (dead) Z 7 7 7 0 -1");
    write("13/stat", "13 (worker of its own group) S 10 13 13 0 -1");
    write("14/stat", "14 (and its) S 13 14 14 0 -1");
    EXPECT_EQ(find_group(7, proc_), (std::vector<int>{10, 13, 14}));
    EXPECT_EQ(find_group(11, proc_), std::vector<int>{11});
    EXPECT_EQ(find_group(12, proc_), std::vector<int>{});
}

TEST_F(ServerWatchTest, NothingToReadIsNothingFound) {
    EXPECT_TRUE(find_listeners(core::Address::loopback(80), proc_ / "gone").empty());
    ServerWatch watch(core::Address::loopback(80), 0, proc_ / "gone");
    EXPECT_FALSE(watch.finish());
    EXPECT_FALSE(watch.ended());
}

}  // namespace
}  // namespace tiderace::load

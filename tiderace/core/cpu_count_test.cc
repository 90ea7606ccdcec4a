#include "tiderace/core/cpu_count.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sched.h>
#endif
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tiderace::core {
namespace {

namespace fs = std::filesystem;

// A file system of our own, beneath a temporary folder.
class CpuCountTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tiderace_cpu_count_XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root = name;
    }
    void TearDown() override { fs::remove_all(root); }

    void put(const fs::path& path, const std::string& text) {
        fs::create_directories((root / path).parent_path());
        std::ofstream(root / path) << text;
    }
    fs::path root;
};

TEST_F(CpuCountTest, WithoutCgroupsTheAffinityDecides) {
    const CpuCount count = count_cpus(root);
    EXPECT_EQ(count.quota, std::nullopt);
    EXPECT_EQ(count.usable, count.affinity);
    EXPECT_GE(count.usable, 1U);
}

TEST_F(CpuCountTest, ReadsTheQuotaWhereverItIs) {
    struct File {
        std::string path;
        std::string text;
    };
    const struct {
        const char* what;
        std::string cgroup;
        std::vector<File> files;
        std::optional<double> quota;
    } cases[] = {
        {"v2", "0::/app\n", {{"app/cpu.max", "50000 100000\n"}}, 0.5},
        {"v2 without a quota", "0::/app\n", {{"app/cpu.max", "max 100000\n"}}, std::nullopt},
        {"v2 in a container", "0::/\n", {{"cpu.max", "150000 100000\n"}}, 1.5},
        {"v2, the parent is tighter",
         "0::/slice/app\n",
         {{"slice/cpu.max", "100000 100000\n"}, {"slice/app/cpu.max", "400000 100000\n"}},
         1.0},
        {"v2, the child is tighter",
         "0::/slice/app\n",
         {{"slice/cpu.max", "400000 100000\n"}, {"slice/app/cpu.max", "100000 100000\n"}},
         1.0},
        {"v2, only an ancestor has the file", "0::/a/b/c\n", {{"a/cpu.max", "25000 50000\n"}}, 0.5},
        {"v2 beside v1", "0::/app\n", {{"unified/app/cpu.max", "50000 100000\n"}}, 0.5},
        {"v2, a group outside of the mount",
         "0::/../../other\n",
         {{"cpu.max", "50000 100000\n"}, {"other/cpu.max", "10000 100000\n"}},
         0.5},
        {"v1",
         "4:cpu,cpuacct:/app\n",
         {{"cpu,cpuacct/app/cpu.cfs_quota_us", "50000\n"},
          {"cpu,cpuacct/app/cpu.cfs_period_us", "100000\n"}},
         0.5},
        {"v1 by its short name",
         "4:cpu,cpuacct:/app\n",
         {{"cpu/app/cpu.cfs_quota_us", "50000\n"}, {"cpu/app/cpu.cfs_period_us", "100000\n"}},
         0.5},
        {"v1 in a container that sees its path on the host",
         "4:cpuacct,cpu:/docker/0123\n",
         {{"cpu/cpu.cfs_quota_us", "50000\n"}, {"cpu/cpu.cfs_period_us", "100000\n"}},
         0.5},
        {"v1 without a quota",
         "4:cpu:/app\n",
         {{"cpu/app/cpu.cfs_quota_us", "-1\n"}, {"cpu/app/cpu.cfs_period_us", "100000\n"}},
         std::nullopt},
        {"v1, other controllers only",
         "3:cpuset:/app\n2:cpuacct:/app\n",
         {{"cpu/app/cpu.cfs_quota_us", "50000\n"}, {"cpu/app/cpu.cfs_period_us", "100000\n"}},
         std::nullopt},
        {"both: the tighter",
         "4:cpu:/app\n0::/app\n",
         {{"cpu/app/cpu.cfs_quota_us", "75000\n"},
          {"cpu/app/cpu.cfs_period_us", "100000\n"},
          {"unified/app/cpu.max", "50000 100000\n"}},
         0.5},
        {"nonsense",
         "\n:\n::\n0:\nx\n0::/app\n",
         {{"app/cpu.max", "50000 0\n"}, {"cpu.max", "50000\n"}},
         std::nullopt},
        {"more nonsense", "0::/app\n", {{"app/cpu.max", "5e4 100000 7\n"}}, std::nullopt},
    };
    for (const auto& example : cases) {
        SCOPED_TRACE(example.what);
        fs::remove_all(root);
        put("proc/self/cgroup", example.cgroup);
        for (const File& file : example.files)
            put("sys/fs/cgroup" / fs::path(file.path), file.text);
        EXPECT_EQ(count_cpus(root).quota, example.quota);
    }
}

TEST_F(CpuCountTest, TheQuotaIsRoundedUpAndBoundedByTheAffinity) {
    const std::size_t affinity = count_cpus(root).affinity;
    const struct {
        std::string max;
        std::size_t usable;
    } cases[] = {
        {"1000 100000", 1},   {"100000 100000", 1},           {"100001 100000", 2},
        {"200000 100000", 2}, {"999999999 100000", SIZE_MAX},
    };
    put("proc/self/cgroup", "0::/\n");
    for (const auto& [max, usable] : cases) {
        put("sys/fs/cgroup/cpu.max", max);
        EXPECT_EQ(count_cpus(root).usable, std::min(usable, affinity)) << max;
    }
}

#if defined(__linux__)
TEST_F(CpuCountTest, TheAffinityMaskIsHonoured) {
    cpu_set_t before;
    ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &before) && CPU_COUNT(&one) == 0) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(count_cpus(root).affinity, 1U);
    EXPECT_EQ(count_cpus(root).usable, 1U);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
    EXPECT_EQ(count_cpus(root).affinity, static_cast<std::size_t>(CPU_COUNT(&before)));
}
#endif

TEST(CpuCount, OfThisMachineIsAtLeastOne) {
    const CpuCount count = count_cpus();
    EXPECT_GE(count.usable, 1U);
    EXPECT_LE(count.usable, count.affinity);
}

}  // namespace
}  // namespace tiderace::core

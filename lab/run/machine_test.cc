#include "lab/run/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::lab::run {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Machine, IsReadFromTheSystem) {
    const tiderace::testing::TemporaryFolder root;
    root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: A fast one\nmodel name\t: B\n");
    root.write("proc/meminfo", "MemTotal:       2048 kB\n");
    root.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    const report::Machine machine = describe_machine(root.path());
    EXPECT_EQ(machine.cpu, "A fast one");
    EXPECT_EQ(machine.memory_bytes, 2048U * 1024);
    EXPECT_EQ(machine.governor, "performance");
    EXPECT_FALSE(machine.kernel.empty());
    EXPECT_GT(machine.descriptors_max, 0U);
}

TEST(Machine, WhatCannotBeReadIsEmpty) {
    const report::Machine machine = describe_machine("/nowhere");
    EXPECT_EQ(machine.cpu, "");
    EXPECT_EQ(machine.governor, "");
    EXPECT_EQ(machine.memory_bytes, 0U);
}

TEST(Machine, ServerAndLoadGetHalfOfTheCpusEach) {
    EXPECT_THAT(place({}).server, IsEmpty());
    EXPECT_THAT(place({3}).load, IsEmpty());
    EXPECT_THAT(place({0, 1}).server, ElementsAre(0U));
    EXPECT_THAT(place({0, 1}).load, ElementsAre(1U));
    EXPECT_THAT(place({2, 4, 6}).server, ElementsAre(2U));
    EXPECT_THAT(place({2, 4, 6}).load, ElementsAre(4U, 6U));
}

TEST(Machine, AThreadIsPlacedAndItsChildrenWithIt) {
    const std::vector<unsigned> all = usable_cpus();
    if (all.empty()) GTEST_SKIP() << "threads cannot be placed here";
    std::vector<unsigned> seen;
    std::thread([&] {
        EXPECT_TRUE(place_self({all.back()}));
        std::thread([&] { seen = usable_cpus(); }).join();
    }).join();
    EXPECT_THAT(seen, ElementsAre(all.back()));
    EXPECT_EQ(usable_cpus(), all);
    EXPECT_FALSE(place_self({}));
}

}  // namespace
}  // namespace tiderace::lab::run

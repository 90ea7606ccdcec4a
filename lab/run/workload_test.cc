#include "lab/run/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace tiderace::lab::run {
namespace {

using ::testing::HasSubstr;

TEST(Workload, EveryOneOfTheIssueIsThereOrSaysWhyNot) {
    for (const std::string_view name : {"w0", "w0-close", "w1", "w2", "w3", "w4", "w5", "w5-echo",
                                        "w5-kv", "idle", "churn", "slow", "mixed", "scale"}) {
        const Workload* found = find_workload(name);
        ASSERT_NE(found, nullptr) << name;
        EXPECT_FALSE(found->about.empty());
        EXPECT_EQ(found->parts.empty(), !found->absent.empty()) << name;
        EXPECT_EQ(found->connections.empty(), !found->absent.empty()) << name;
    }
    EXPECT_EQ(find_workload("w9"), nullptr);
}

TEST(Workload, ThoseThatTheLabCannotRunNameWhatDoes) {
    EXPECT_THAT(find_workload("w3")->absent, HasSubstr("./dev bench data"));
    EXPECT_THAT(find_workload("w5-kv")->absent, HasSubstr("redis-benchmark"));
}

TEST(Workload, TheSizesAreThoseOfTheOriginals) {
    for (const auto& [name, bytes] : {std::pair("w0", 2'496'629U), {"w1", 40U}, {"w2", 57'244U}}) {
        const Workload& workload = *find_workload(name);
        EXPECT_EQ(load_of(workload, workload.parts[0], 100).expect_length, bytes) << name;
    }
}

TEST(Workload, IsPrintedAsACommandForAnotherShell) {
    EXPECT_EQ(load_command(*find_workload("churn")),
              "tiderace load http://ADDRESS/tiny.txt --connections 100 --close --expect-length 40");
    EXPECT_THAT(load_command(*find_workload("slow")), HasSubstr("--slow-readers 10"));
    EXPECT_THAT(load_command(*find_workload("mixed")), HasSubstr(" & "));
    EXPECT_THAT(load_command(*find_workload("w5")), HasSubstr("--pipeline 16"));
    EXPECT_EQ(load_command(*find_workload("w5-echo")),
              "tiderace load echo://ADDRESS --connections 100 --body-size 40 --pipeline 16 "
              "--expect-length 40");
    EXPECT_THAT(load_command(*find_workload("idle")), HasSubstr("--think 1h"));
}

TEST(Workload, PartsWithFixedClientsAddUp) {
    for (const Workload& workload : workloads()) {
        std::uint64_t fixed = 0;
        for (const LoadPart& part : workload.parts) fixed += part.connections;
        if (fixed > 0) {
            EXPECT_EQ(fixed, workload.connections[0]) << workload.name;
        }
        std::uint64_t scaled = 0;
        for (const LoadPart& part : workload.parts) {
            scaled += load_of(workload, part, 30).connections;
        }
        EXPECT_EQ(scaled, workload.parts.empty() ? 0U : 30U) << workload.name;
    }
}

}  // namespace
}  // namespace tiderace::lab::run

#include "server/command_line/run_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/lab_commands.h"

namespace tiderace::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string_view>;

lab::run::RunOptions options(const Words& words) {
    const auto command = parse_lab_command_line(words);
    EXPECT_TRUE(command) << command.error().sentence;
    if (!command || !std::holds_alternative<lab::run::RunOptions>(*command)) return {};
    return std::get<lab::run::RunOptions>(*command);
}

CliFailure failure(const Words& words) {
    const auto command = parse_lab_command_line(words);
    EXPECT_FALSE(command.has_value());
    return command ? CliFailure{} : command.error();
}

TEST(RunFlags, SayWhatIsRunAndWhereItGoes) {
    const auto told =
        options({"run", "--engines", "epoll,poll,epoll,nginx", "--workloads", "w1,idle", "--quick",
                 "--rounds", "2", "--seconds", "0.2", "--out", "here"});
    EXPECT_THAT(told.engines, ElementsAre("epoll", "poll", "nginx"));
    EXPECT_THAT(told.workloads, ElementsAre("w1", "idle"));
    EXPECT_TRUE(told.quick);
    EXPECT_EQ(told.rounds, 2u);
    EXPECT_EQ(told.cell_time, Duration(200ms));
    EXPECT_EQ(told.folder, "here");
    EXPECT_THAT(told.command, HasSubstr("tiderace lab run --engines epoll,poll,epoll,nginx"));
    EXPECT_FALSE(told.version.empty());
    EXPECT_EQ(options({"run"}).folder, "lab-results");
    EXPECT_FALSE(told.force);
    EXPECT_TRUE(options({"run", "--force"}).force);
}

TEST(RunFlags, WhatIsUnknownIsNamedWithTheNearest) {
    for (const auto& [words, piece] : std::vector<std::pair<Words, const char*>>{
             {{"run", "--engines", "epol"}, "did you mean epoll?"},
             {{"run", "--engines", "epoll,"}, "there is no engine or server"},
             {{"run", "--engines", "iis"}, "there is no engine or server iis"},
             {{"run", "--workloads", "w11"}, "did you mean w1?"},
             {{"run", "--workloads", "w3"}, "w3 is not run here, where servers serve files"},
             {{"run", "--seconds", "0"}, "from 0.01"},
             {{"run", "--seconds", "1s"}, "from 0.01"},
             {{"run", "--seconds", "nan"}, "from 0.01"},
             {{"run", "now"}, "does not take the word now"},
             {{"report"}, "expects the folder"},
             {{"rn"}, "did you mean run?"}}) {
        const CliFailure fault = failure(words);
        EXPECT_EQ(fault.exit_status, 2) << piece;
        EXPECT_THAT(fault.sentence, HasSubstr(piece));
    }
}

TEST(RunFlags, AReportIsOfOneFolder) {
    const auto command = parse_lab_command_line(Words{"report", "there"});
    ASSERT_TRUE(command) << command.error().sentence;
    EXPECT_EQ(std::get<lab::report::ReportOptions>(*command).folder, "there");
}

}  // namespace
}  // namespace tiderace::server

#include "server/lab_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/engine/engine.h"
#include "lab/opponent/opponent.h"

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string_view>;

std::string printout(const Words& words) {
    const auto command = parse_lab_command_line(words);
    EXPECT_TRUE(command) << command.error().sentence;
    if (!command || !std::holds_alternative<Printout>(*command)) return "(not a printout)";
    return std::get<Printout>(*command).text;
}

CliFailure failure(const Words& words) {
    const auto command = parse_lab_command_line(words);
    EXPECT_FALSE(command.has_value());
    return command ? CliFailure{} : command.error();
}

TEST(LabCommandLine, ServeTakesTheFlagsOfServeAndEveryEngine) {
    const auto command = parse_lab_command_line(
        Words{"serve", "site", "--engine", "queue", "--listing", "-t", "3", "-l", ":80"});
    ASSERT_TRUE(command) << command.error().sentence;
    const auto& options = std::get<ServeOptions>(*command);
    EXPECT_EQ(options.engine, "queue");
    EXPECT_EQ(options.root, "site");
    EXPECT_TRUE(options.listing);
    EXPECT_EQ(options.threads, 3u);
    for (const auto& engine : lab::engine::engines()) {
        const auto each = parse_lab_command_line(Words{"serve", "--engine", engine.name});
        if (engine.why_absent().empty()) {
            ASSERT_TRUE(each) << each.error().sentence;
            EXPECT_EQ(std::get<ServeOptions>(*each).engine, engine.name);
        } else {
            ASSERT_FALSE(each.has_value());
            EXPECT_EQ(each.error().exit_status, 1) << "the machine's fault, not the words'";
            EXPECT_THAT(each.error().sentence, HasSubstr(engine.why_absent()));
        }
    }
}

TEST(LabCommandLine, AnUnknownEngineIsNamedWithTheNearest) {
    const CliFailure fault = failure({"serve", "--engine", "qeue"});
    EXPECT_EQ(fault.exit_status, 2);
    EXPECT_THAT(fault.sentence, HasSubstr("--engine qeue"));
    EXPECT_THAT(fault.sentence, HasSubstr("did you mean queue?"));
}

TEST(LabCommandLine, AnUnknownCommandIsNamedWithTheNearest) {
    EXPECT_THAT(failure({"engine"}).sentence, HasSubstr("did you mean engines?"));
    EXPECT_THAT(failure({"wibble"}).sentence, HasSubstr("tiderace lab help"));
    EXPECT_THAT(failure({"help", "servw"}).sentence, HasSubstr("did you mean serve?"));
    EXPECT_THAT(failure({"engines", "now"}).sentence, HasSubstr("does not take the word now"));
    EXPECT_EQ(failure({"wibble"}).exit_status, 2);
}

TEST(LabCommandLine, AnUnknownFlagIsListedByTheLabsHelp) {
    EXPECT_EQ(failure({"run", "--cell-time", "1s"}).sentence,
              "unknown flag --cell-time; tiderace lab help run lists them");
    EXPECT_EQ(failure({"engines", "-z"}).sentence,
              "unknown flag -z; tiderace lab help engines lists them");
}

TEST(LabCommandLine, ListsTheEnginesAndSaysWhichAreNotHere) {
    const std::string list = printout({"engines"});
    for (const auto& engine : lab::engine::engines()) {
        EXPECT_THAT(list, HasSubstr(std::string(engine.name)));
    }
    for (const lab::Opponent& opponent : lab::opponents()) {
        EXPECT_THAT(list, HasSubstr("\n" + std::string(opponent.name) + " "));
    }
    EXPECT_THAT(list,
                HasSubstr("\nw3                a rendered page with a database read. Not here:"));
    std::size_t begin = 0;
    for (std::size_t end; (end = list.find('\n', begin)) != std::string::npos; begin = end + 1) {
        EXPECT_LE(end - begin, 80u) << list.substr(begin, end - begin);
    }
}

TEST(LabCommandLine, HelpSpeaksOfTheLab) {
    EXPECT_THAT(printout({}), HasSubstr("Usage: tiderace lab COMMAND"));
    EXPECT_EQ(printout({"--help"}), printout({"help"}));
    EXPECT_THAT(printout({"help", "serve"}), HasSubstr("Usage: tiderace lab serve [DIR] [flags]"));
    EXPECT_EQ(printout({"serve", "--help"}), printout({"help", "serve"}));
    EXPECT_THAT(printout({"engines", "-h"}), HasSubstr("Usage: tiderace lab engines"));
    EXPECT_THAT(printout({"--version"}), HasSubstr("tiderace "));
}

}  // namespace
}  // namespace tiderace::server

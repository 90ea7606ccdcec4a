#include "server/command_line/load_command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string_view>;

TEST(LoadCommandLine, TakesAUrlAndItsFlagsInAnyOrder) {
    const auto command = parse_load_command_line(Words{"-c5", "http://127.0.0.1:1/", "--close"});
    ASSERT_TRUE(command) << command.error().sentence;
    const auto& options = std::get<load::LoadOptions>(*command);
    EXPECT_EQ(options.url, "http://127.0.0.1:1/");
    EXPECT_EQ(options.connections, 5u);
    EXPECT_TRUE(options.close);
}

TEST(LoadCommandLine, HasItsPageUnderEachWordForHelp) {
    for (const Words& words : {Words{"help"}, Words{"--help"}, Words{"http://a/", "-h"}}) {
        const auto command = parse_load_command_line(words);
        ASSERT_TRUE(command && std::holds_alternative<Printout>(*command)) << words.front();
        const std::string& page = std::get<Printout>(*command).text;
        EXPECT_THAT(page, HasSubstr("Usage: tiderace load URL [flags]\n\nput a server of yours"));
        EXPECT_THAT(page, HasSubstr("--slow-drips PART"));
    }
}

TEST(LoadCommandLine, NamesWhatIsWrong) {
    struct {
        Words words;
        std::string_view sentence;
    } const all[] = {
        {{}, "load expects a URL, as in tiderace load http://127.0.0.1:8080/"},
        {{"http://a/", "b"}, "load does not take the word b"},
        {{"--body", "x", "--body-size", "1KiB"}, "--body and --body-size: choose one"},
        {{"--conections", "5"}, "unknown flag --conections; did you mean --connections?"},
        {{"--frob"}, "unknown flag --frob; tiderace help load lists them"},
        {{"--port", "5"}, "unknown flag --port; tiderace help load lists them"},
        {{"-c", "0"}, "--connections 0: expects a whole number from 1 to 10000000"},
    };
    for (const auto& each : all) {
        const auto command = parse_load_command_line(each.words);
        ASSERT_FALSE(command.has_value()) << each.sentence;
        EXPECT_EQ(command.error().sentence, each.sentence);
        EXPECT_EQ(command.error().exit_status, 2);
    }
}

}  // namespace
}  // namespace tiderace::server

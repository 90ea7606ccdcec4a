#include "server/command_line/completions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "server/command_line/flags.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;

bool is_installed(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

// A script in a file, gone with the test.
class Script {
  public:
    explicit Script(const std::string& text)
        : path_(::testing::TempDir() + "tiderace-script-XXXXXX") {
        close(mkstemp(path_.data()));
        std::ofstream(path_) << text;
    }
    ~Script() { std::filesystem::remove(path_); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

// Runs a shell command and gives its output; the test fails when the command does.
std::string output_of(const std::string& command) {
    std::FILE* pipe = popen(command.c_str(), "r");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0) << command;
    return text;
}

TEST(Completions, OfferEveryCommandAndFlagInEveryShell) {
    for (const CommandSpec& command : commands()) {
        const std::string name(command.name);
        EXPECT_THAT(bash_completions(), HasSubstr("        " + name + ")\n"));
        EXPECT_THAT(zsh_completions(), HasSubstr("'" + name + ":"));
        EXPECT_THAT(fish_completions(), HasSubstr(" -a " + name + " "));
        for (const FlagHelp& flag : command.flags) {
            const std::string word = "--" + std::string(flag.name);
            EXPECT_THAT(bash_completions(), HasSubstr(word));
            EXPECT_THAT(zsh_completions(), HasSubstr(word));
            EXPECT_THAT(fish_completions(),
                        HasSubstr("from " + name + "' -l " + std::string(flag.name)));
        }
    }
}

TEST(BashCompletions, Parse) {
    if (!is_installed("bash")) GTEST_SKIP() << "no bash";
    const Script script(bash_completions());
    output_of("bash -n " + script.path() + " 2>&1");
}

TEST(BashCompletions, CompleteWhatIsTyped) {
    if (!is_installed("bash")) GTEST_SKIP() << "no bash";
    struct Case {
        std::string words, offers;
    };
    const Case cases[] = {
        {"tiderace se", "serve"},
        {"tiderace serve --lis", "--listen --listing"},
        {"tiderace serve --accept q", "queue"},
        {"tiderace serve --accept ''", "reuseport queue shared"},
        {"tiderace serve --log-level warn", "warning"},
        {"tiderace serve --threads ''", ""},
        {"tiderace load ''", ""},
        {"tiderace lo", "load"},
        {"tiderace completions z", "zsh"},
        {"tiderace help comp", "completions"},
        {"tiderace version --v", "--verbose"},
        {"tiderace man x", ""},
    };
    const Script script(bash_completions());
    for (const Case& c : cases) {
        const Script probe(
            "source " + script.path() + "; COMP_WORDS=(" + c.words +
            "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tiderace; echo -n ${COMPREPLY[*]}");
        EXPECT_EQ(output_of("bash " + probe.path() + " 2>&1"), c.offers) << c.words;
    }
}

TEST(Completions, OfferFoldersWhereAFlagTakesOne) {
    const testing::TemporaryFolder folder;
    folder.make_folder("kept");
    folder.write("kept.txt", "");
    if (is_installed("bash")) {
        const Script script(bash_completions());
        const Script probe("cd " + folder.path() + "; source " + script.path() +
                           "; COMP_WORDS=(tiderace serve --compress-cache ke); COMP_CWORD=3; "
                           "_tiderace; echo -n ${COMPREPLY[*]}");
        EXPECT_EQ(output_of("bash " + probe.path() + " 2>&1"), "kept");
    }
    EXPECT_THAT(zsh_completions(), ::testing::ContainsRegex("--compress-cache.*:DIR:_directories"));
    EXPECT_THAT(fish_completions(),
                ::testing::ContainsRegex("-l compress-cache -x -a '.__fish_complete_directories"));
}

TEST(ZshCompletions, Parse) {
    if (!is_installed("zsh")) GTEST_SKIP() << "no zsh";
    const Script script(zsh_completions());
    EXPECT_EQ(output_of("zsh -n " + script.path() + " 2>&1"), "");
}

TEST(FishCompletions, Parse) {
    if (!is_installed("fish")) GTEST_SKIP() << "no fish";
    const Script script(fish_completions());
    EXPECT_EQ(output_of("fish --no-execute " + script.path() + " 2>&1"), "");
}

TEST(FishCompletions, QuoteNothingTwice) {
    // In each line the quotes that are not escaped come in pairs.
    const std::string script = fish_completions();
    int quotes = 0;
    for (std::size_t i = 0; i < script.size(); ++i) {
        if (script[i] == '\n') {
            EXPECT_EQ(quotes % 2, 0) << script.substr(script.rfind('\n', i - 1) + 1, 100);
            quotes = 0;
        }
        if (script[i] == '\'' && script[i - 1] != '\\') ++quotes;
    }
}

}  // namespace
}  // namespace tiderace::server

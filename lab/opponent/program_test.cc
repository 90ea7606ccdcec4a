#include "lab/opponent/program.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tiderace::lab::opponent {
namespace {

constexpr std::array<std::string_view, 1> switches{"--keep-alive"};
constexpr Program program{
    .name = "test", .served = "DIR", .version = "test 1", .switches = switches};

std::expected<ProgramOptions, std::string> parse(std::vector<std::string> words) {
    words.insert(words.begin(), "tiderace-lab-test");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    return parse_words(program, pointers);
}

TEST(OpponentProgram, TakesAFolderAnAddressThreadsAndSwitches) {
    const auto options =
        parse({"site", "--listen", "127.0.0.1:81", "--threads", "3", "--keep-alive"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->served, "site");
    EXPECT_EQ(options->listen.to_string(), "127.0.0.1:81");
    EXPECT_EQ(options->threads, 3U);
    EXPECT_TRUE(options->has("--keep-alive"));
    const auto least = parse({"site"});
    ASSERT_TRUE(least);
    EXPECT_EQ(least->listen.port(), 0);
    EXPECT_EQ(least->threads, 1U);
    EXPECT_FALSE(least->has("--keep-alive"));
}

TEST(OpponentProgram, RefusesWhatItDoesNotKnow) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{},
                                               {"site", "other"},
                                               {"site", "--unknown"},
                                               {"site", "--listen"},
                                               {"site", "--listen", "nonsense"},
                                               {"site", "--threads", "0"},
                                               {"site", "--threads", "257"},
                                               {"site", "--threads", "3x"}}) {
        EXPECT_FALSE(parse(words)) << (words.empty() ? "" : words.back());
    }
    EXPECT_EQ(parse({}).error(),
              "usage: tiderace-lab-test DIR [--listen ADDRESS] [--threads N] [--keep-alive]");
}

}  // namespace
}  // namespace tiderace::lab::opponent

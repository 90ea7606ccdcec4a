#include "server/command_line/command_words.h"

#include <gtest/gtest.h>

namespace tiderace::server {
namespace {

using Words = std::vector<std::string_view>;

const CommandSpec& serve() {
    return *find_command("serve");
}

std::vector<std::string> values(const CommandWords& words, std::string_view name) {
    std::vector<std::string> found;
    for (const GivenFlag& given : words.flags) {
        if (given.flag->name == name) found.push_back(given.value);
    }
    return found;
}

TEST(CommandWords, KeepsEachValueAsItWasTyped) {
    const std::string_view odd[] = {"[a,b]", "a b", "'x'", "\"x\"",    "a=b=c",
                                    "-1",    "{}",  "%%",  "\x01\x02", "ü"};
    for (const std::string_view value : odd) {
        const auto words = split_command_words(serve(), Words{"--header", value, "site"});
        ASSERT_TRUE(words) << value << ": " << words.error();
        EXPECT_EQ(values(*words, "header"), std::vector<std::string>{std::string(value)});
        EXPECT_EQ(words->operands, std::vector<std::string>{"site"}) << value;
    }
}

TEST(CommandWords, KeepsTheOrderOfARepeatedFlag) {
    const auto words = split_command_words(
        serve(), Words{"--header", "b:1", "x", "--header=a:2", "--header", "c:3"});
    ASSERT_TRUE(words);
    EXPECT_EQ(values(*words, "header"), (std::vector<std::string>{"b:1", "a:2", "c:3"}));
}

TEST(CommandWords, JoinsLettersOfSwitches) {
    const auto words = split_command_words(serve(), Words{"-oq", "-l:80"});
    ASSERT_TRUE(words) << words.error();
    EXPECT_EQ(values(*words, "open").size(), 1U);
    EXPECT_EQ(values(*words, "quiet").size(), 1U);
    EXPECT_EQ(values(*words, "listen"), std::vector<std::string>{":80"});
}

TEST(CommandWords, ASwitchGivenTwiceIsGivenOnce) {
    const auto words = split_command_words(serve(), Words{"--listing", "--listing"});
    ASSERT_TRUE(words);
    EXPECT_EQ(values(*words, "listing").size(), 1U);
}

TEST(CommandWords, OneDashIsAnOperand) {
    const auto words = split_command_words(serve(), Words{"-"});
    ASSERT_TRUE(words) << words.error();
    EXPECT_EQ(words->operands, std::vector<std::string>{"-"});
}

TEST(CommandWords, TwoDashesEndTheFlagsOnce) {
    const auto words =
        split_command_words(serve(), Words{"--listing", "--", "-x", "--", "--index="});
    ASSERT_TRUE(words) << words.error();
    EXPECT_EQ(words->operands, (std::vector<std::string>{"-x", "--", "--index="}));
}

TEST(CommandWords, NamesTheFirstUnknownFlagEvenWhenItsValueFollows) {
    const auto words = split_command_words(serve(), Words{"--lisen", ":80", "--treads", "2"});
    ASSERT_FALSE(words);
    EXPECT_EQ(words.error(), "unknown flag --lisen; did you mean --listen?");
}

TEST(CommandWords, NamesTheFirstOfSeveralMistakes) {
    struct {
        Words words;
        std::string_view sentence;
    } const all[] = {
        {{"--listing=no", "--frob"}, "--listing takes no value, but got no"},
        {{"--frob", "--listing=no"}, "unknown flag --frob; tiderace help serve lists them"},
        {{"-oz", "--listen"}, "unknown flag -z; tiderace help serve lists them"},
        {{"-zo", "--listen"}, "unknown flag -zo; tiderace help serve lists them"},
        {{"--index", "-open"}, "--index needs a value: NAMES"},
        {{"--spa=--open"}, "--spa needs a value: FILE"},
        {{"-t2", "--spa", "-ot3"}, "--threads is given twice: 2 and 3"},
        {{"--=x"}, "unknown flag --; tiderace help serve lists them"},
    };
    for (const auto& each : all) {
        const auto words = split_command_words(serve(), each.words);
        ASSERT_FALSE(words) << each.sentence;
        EXPECT_EQ(words.error(), each.sentence);
    }
}

TEST(CommandWords, KnowWhichFlagsWereGiven) {
    const auto words = split_command_words(serve(), Words{"--listing", "-t", "2"});
    ASSERT_TRUE(words);
    EXPECT_TRUE(words->has("listing"));
    EXPECT_TRUE(words->has("threads"));
    EXPECT_FALSE(words->has("spa"));
}

TEST(CommandWords, AreAppliedUpToTheFirstFlagThatDoesNotTakeItsValue) {
    ServeOptions options;
    auto words = split_command_words(serve(), Words{"--listing", "--threads", "2"});
    ASSERT_TRUE(words);
    ASSERT_TRUE(apply_flags(*words, serve_flags(), options));
    EXPECT_TRUE(options.listing);
    EXPECT_EQ(options.threads, 2u);

    words = split_command_words(serve(), Words{"--threads", "many"});
    ASSERT_TRUE(words);
    const auto applied = apply_flags(*words, serve_flags(), options);
    ASSERT_FALSE(applied);
    EXPECT_TRUE(applied.error().starts_with("--threads many: ")) << applied.error();
}

}  // namespace
}  // namespace tiderace::server

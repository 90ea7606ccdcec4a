#include "lab/opponent/program.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <utility>
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

Result<> until_stopped(core::Descriptor, int stop) {
    pollfd end{.fd = stop, .events = POLLIN, .revents = 0};
    while (::poll(&end, 1, -1) < 0) {
    }
    return {};
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

int run_with(std::vector<std::string> words, const Work& work) {
    words.insert(words.begin(), "tiderace-lab-test");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    return run_program(
        program, pointers, [](const ProgramOptions&) { return Result<>(); },
        [](const ProgramOptions& options) { return options.threads; }, work);
}

// As a user that may have two threads.
int run_with_few_threads() {
    const rlimit two{.rlim_cur = 2, .rlim_max = 2};
    if (::setrlimit(RLIMIT_NPROC, &two) != 0 || ::setuid(54'322) != 0) return 3;
    return run_with({"site", "--threads", "4"}, until_stopped);
}

TEST(OpponentProgram, ARefusedThreadIsOneSentenceAndTheOthersEnd) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user that has no other process";
    EXPECT_EXIT(std::_Exit(run_with_few_threads()), ::testing::ExitedWithCode(1),
                "^tiderace-lab-test: start 4 threads: resource temporarily unavailable; no more "
                "than [01] are allowed: use a smaller --threads, or raise the limit [^\n]*\n$");
}

TEST(OpponentProgram, AnErrorOfOneThreadEndsAll) {
    std::atomic<bool> first = true;
    const Work work = [&](core::Descriptor listener, int stop) -> Result<> {
        if (first.exchange(false)) return fail(Error(0, "serve", "site", "no"));
        return until_stopped(std::move(listener), stop);
    };
    EXPECT_EXIT(std::_Exit(run_with({"site", "--threads", "2"}, work)),
                ::testing::ExitedWithCode(1), "^tiderace-lab-test: serve site: no\n$");
}

}  // namespace
}  // namespace tiderace::lab::opponent

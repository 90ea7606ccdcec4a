#include "tests/seeds/seed_runner.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string_view>

#if defined(TIDERACE_SANITIZED)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace tiderace::testing {
namespace {

#if defined(TIDERACE_SANITIZED)
constexpr std::uint64_t seeds_by_default = 2'000;  // each takes some times longer
#else
constexpr std::uint64_t seeds_by_default = 10'000;
#endif

std::uint64_t usual_count(const SeedLimits& limits) {
#if defined(TIDERACE_SANITIZED)
    return seeds_by_default / limits.one_in / limits.one_in_sanitized;
#else
    return seeds_by_default / limits.one_in;
#endif
}

struct Choice {
    std::optional<std::uint64_t> only;
    std::optional<std::uint64_t> count;
    bool trace = false;
};

Choice& choice() {
    static Choice chosen;
    return chosen;
}

std::optional<std::uint64_t> number(const char* text) {
    if (text == nullptr) return std::nullopt;
    const std::string_view digits(text);
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(digits.begin(), digits.end(), value);
    if (fault != std::errc{} || end != digits.end()) return std::nullopt;
    return value;
}

// False: a word that is not understood.
bool read_choice(int count, char** words) {
    Choice& chosen = choice();
    chosen.only = number(std::getenv("TIDERACE_SEED"));
    chosen.count = number(std::getenv("TIDERACE_SEEDS"));
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        const auto value = number(i + 1 < count ? words[i + 1] : nullptr);
        if (word == "--trace") {
            chosen.trace = true;
        } else if (word == "--seed" && value) {
            chosen.only = value;
            ++i;
        } else if (word == "--seeds" && value) {
            chosen.count = value;
            ++i;
        } else {
            std::cerr << "seeds_test: not understood: " << word
                      << "; it takes --seed N, --seeds N, --trace and GoogleTest's own flags\n";
            return false;
        }
    }
    return true;
}

std::string replay_command(std::uint64_t seed) {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    return std::string("seeds_test --gtest_filter=") + test->test_suite_name() + '.' +
           test->name() + " --trace --seed " + std::to_string(seed);
}

// The run under way, for a program that dies in it.
std::array<char, 200> replay_line{};
std::size_t replay_line_bytes = 0;
const FakeNetwork* network_under_way = nullptr;

void note_replay(std::uint64_t seed) {
    const std::string line = "\n  replay: " + replay_command(seed) + "\n";
    replay_line_bytes = line.copy(replay_line.data(), replay_line.size());
}

void print_trace(const FakeNetwork& network) {
    for (const std::string& line : network.trace()) std::cerr << line << '\n';
}

// Not what a signal handler may do in a program that goes on; this one is dying.
void print_replay() {
    if (network_under_way != nullptr) print_trace(*network_under_way);
    [[maybe_unused]] const ssize_t written =
        ::write(STDERR_FILENO, replay_line.data(), replay_line_bytes);
}

void on_abort(int signal) {
    print_replay();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

// Every fourth loop asks its kernel as on BSD and macOS.
FakeWorld::Asks asks_for(std::uint64_t seed) {
    return seed % 4 == 3 ? FakeWorld::Asks::by_kqueue : FakeWorld::Asks::directly;
}

void run_one(const Scenario& scenario, const SeedLimits& limits, std::uint64_t seed) {
    FakeWorld world(FaultPlan::from_seed(seed), asks_for(seed));
    if (choice().trace) world.network().trace_on();
    network_under_way = &world.network();
    Random random(seed);
    scenario(world, random);
    network_under_way = nullptr;
    EXPECT_EQ(world.open_descriptors(), 0);
    EXPECT_EQ(world.loop().blocks().taken(), 0U);
    EXPECT_LE(world.elapsed() / 1s, limits.virtual_time_max / 1s);
    print_trace(world.network());
}

}  // namespace

void run_seeds(const Scenario& scenario, const SeedLimits& limits) {
    const std::uint64_t first = choice().only.value_or(1);
    const std::uint64_t last = choice().only.value_or(choice().count.value_or(usual_count(limits)));
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        note_replay(seed);
        run_one(scenario, limits, seed);
        if (!::testing::Test::HasFailure()) continue;
        ADD_FAILURE() << FaultPlan::from_seed(seed).describe()
                      << "\n  replay: " << replay_command(seed);
        break;
    }
    replay_line_bytes = 0;
}

}  // namespace tiderace::testing

int main(int count, char** words) {
    ::testing::InitGoogleTest(&count, words);
    if (!tiderace::testing::read_choice(count, words)) return 2;
    std::signal(SIGABRT, tiderace::testing::on_abort);
#if defined(TIDERACE_SANITIZED)
    __sanitizer_set_death_callback(tiderace::testing::print_replay);
#endif
    return RUN_ALL_TESTS();
}

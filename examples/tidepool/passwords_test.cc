#include "examples/tidepool/passwords.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tiderace/task.h>

#include <algorithm>
#include <ctime>
#include <string>

namespace tidepool {
namespace {

using namespace tiderace;
using ::testing::StartsWith;

TEST(Passwords, AreKeptAsHashesOfArgon2id) {
    Passwords passwords;
    const std::string hash = run(passwords.hash("correct horse"));
    EXPECT_THAT(hash, StartsWith("$argon2id$v=19$m=19456,t=2,p=1$"));
    EXPECT_NE(run(passwords.hash("correct horse")), hash) << "each has a salt of its own";
    EXPECT_TRUE(run(passwords.matches("correct horse", hash)));
    EXPECT_FALSE(run(passwords.matches("wrong", hash)));
    EXPECT_FALSE(run(passwords.matches("correct horse", "")));
}

Task<> hash_one(Passwords& passwords) {
    co_await passwords.hash("correct horse");
}

// One of the waiting calls is computed; the end of the scope cancels the others.
Task<bool> is_refused_when_full(Passwords& passwords) {
    Scope waiting;
    for (std::size_t i = 0; i < Passwords::waiting_max; ++i) waiting.spawn(hash_one(passwords));
    co_await sleep(Duration::zero());
    try {
        co_await passwords.matches("correct horse", "");
    } catch (const Passwords::TooBusy&) {
        co_return true;
    }
    co_return false;
}

TEST(Passwords, WaitInAQueueThatIsBounded) {
    Passwords passwords;
    EXPECT_TRUE(run(is_refused_when_full(passwords)));
    EXPECT_FALSE(run(passwords.hash("correct horse")).empty()) << "the cancelled calls made room";
}

// Processor time, which does not depend on the load of the machine.
double seconds_for(Passwords& passwords, const std::string& hash) {
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
        const std::clock_t before = std::clock();
        EXPECT_FALSE(run(passwords.matches("wrong", hash)));
        least = std::min(least, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
    }
    return least;
}

TEST(Passwords, AnUnknownMemberTakesTheWorkOfAWrongPassword) {
    Passwords passwords;
    const std::string hash = run(passwords.hash("correct horse"));
    const double known = seconds_for(passwords, hash);
    const double unknown = seconds_for(passwords, "");
    EXPECT_GT(unknown, known / 2);
    EXPECT_LT(unknown, known * 2);
}

}  // namespace
}  // namespace tidepool

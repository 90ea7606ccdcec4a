#include "tiderace/password/hasher.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "tiderace/task/run.h"
#include "tiderace/task/scope.h"
#include "tiderace/task/sleep.h"

namespace tiderace::password {
namespace {

using task::run;
using task::Scope;
using task::Task;

constexpr Options cheap{.memory = 8_KiB, .passes = 1};

TEST(Hasher, MakesAHashOfArgon2idThatItKnowsAgain) {
    Hasher hasher;
    const std::string hash = run(hasher.hash("correct horse"));
    EXPECT_TRUE(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$")) << hash;
    EXPECT_NE(run(hasher.hash("correct horse")), hash) << "each has a salt of its own";
    EXPECT_TRUE(run(hasher.verify("correct horse", hash)));
    EXPECT_FALSE(run(hasher.verify("correct horsf", hash)));
    EXPECT_FALSE(run(hasher.verify("", hash)));
    EXPECT_FALSE(run(hasher.verify("correct horse", "")));
}

// Made by argon2-cffi 25.1 (Python), which calls the reference implementation.
TEST(Hasher, KnowsTheHashesOfOthers) {
    Hasher hasher(cheap);
    const std::string ours =
        "$argon2id$v=19$m=1024,t=2,p=1$F9MFXf+yxIqczpzSmV4vNg$"
        "S6i0Eg5eCA8KEXccLGFv+5hBDbjWQb666rvwtjLfWc4";
    const std::string lanes =
        "$argon2id$v=19$m=64,t=1,p=2$1H+bfbqJpNql/SXNeQApGQ$"
        "gKMGwx5KuyoVljfl7aCUiHAe/ejHW18+LayS8oJWfjY";
    const std::string argon2i =
        "$argon2i$v=19$m=1024,t=2,p=1$jGQxeEWyweqNYh4i04GCkA$"
        "GU8znR1qHxyQu3JtKN127RueEJHcSlpA+ZX8igP2E+M";
    EXPECT_TRUE(run(hasher.verify("correct horse", ours)));
    EXPECT_FALSE(run(hasher.verify("correct horsf", ours)));
    EXPECT_TRUE(run(hasher.verify("correct horse", lanes)));
    EXPECT_FALSE(run(hasher.verify("correct horse", argon2i))) << "another algorithm";
}

TEST(Hasher, AnyBytesAreAPassword) {
    Hasher hasher(cheap);
    const std::string zeros(3, '\0');
    const std::string hash = run(hasher.hash(zeros));
    EXPECT_TRUE(run(hasher.verify(zeros, hash)));
    EXPECT_FALSE(run(hasher.verify(std::string(4, '\0'), hash)));
    EXPECT_FALSE(run(hasher.verify("", hash)));
    EXPECT_TRUE(run(hasher.verify("", run(hasher.hash("")))));
}

TEST(Hasher, APasswordHasABound) {
    Hasher hasher(cheap);
    const std::string longest(Hasher::password_bytes_max, 'x');
    const std::string hash = run(hasher.hash(longest));
    EXPECT_TRUE(run(hasher.verify(longest, hash)));
    EXPECT_THROW(run(hasher.hash(longest + "x")), std::length_error);
    EXPECT_FALSE(run(hasher.verify(longest + "x", hash)));
}

TEST(Hasher, ReportsWhatHasOtherOptions) {
    const Hasher hasher({.memory = 20_KiB + 1, .passes = 3});
    struct Case {
        std::string text;
        bool needs;
    };
    const std::string rest = "$F9MFXf+yxIqczpzSmV4vNg$S6i0Eg5eCA8KEXccLGFv+5hBDbjWQb666rvwtjLfWc4";
    for (const Case& one : {Case{"$argon2id$v=19$m=20,t=3,p=1" + rest, false},
                            {"$argon2id$v=19$m=21,t=3,p=1" + rest, true},
                            {"$argon2id$v=19$m=20,t=2,p=1" + rest, true},
                            {"$argon2i$v=19$m=20,t=3,p=1" + rest, true},
                            {"$argon2id$v=16$m=20,t=3,p=1" + rest, true},
                            {"$2b$12$abcdefghijklmnopqrstuv", true},
                            {"", true},
                            {std::string(300, '$'), true}}) {
        EXPECT_EQ(hasher.needs_rehash(one.text), one.needs) << one.text;
    }
}

// A table of a stranger's must not decide what a log-in costs.
TEST(Hasher, AHashThatTakesTooMuchIsNotComputed) {
    Hasher hasher(cheap);
    const std::string rest =
        ",p=1$F9MFXf+yxIqczpzSmV4vNg$S6i0Eg5eCA8KEXccLGFv+5hBDbjWQb666rvwtjLfWc4";
    for (const char* const costs : {"m=4294967295,t=1", "m=262145,t=1", "m=8,t=33",
                                    "m=8,t=4294967295", "m=99999999999,t=1", "m=-8,t=1"}) {
        EXPECT_FALSE(run(hasher.verify("x", std::string("$argon2id$v=19$") + costs + rest)));
    }
}

// The memory of the hash that is made for a verify() that has begun.
Task<std::size_t> memory_for(Hasher& hasher, std::string hash) {
    Scope scope;
    scope.spawn([](Hasher& of, std::string text) -> Task<> {
        const bool same = co_await of.verify("x", std::move(text));
        EXPECT_FALSE(same);
    }(hasher, std::move(hash)));
    const std::size_t memory = hasher.counters().memory_bytes;
    co_await scope.join();
    EXPECT_EQ(hasher.counters().memory_bytes, 0U);
    co_return memory;
}

TEST(Hasher, AUserThatIsNotThereCostsAHash) {
    Hasher hasher(cheap);
    EXPECT_EQ(run(memory_for(hasher, run(hasher.hash("y")))), 8_KiB);
    EXPECT_EQ(run(memory_for(hasher, "")), 8_KiB);
    EXPECT_EQ(run(memory_for(hasher, "no hash")), 8_KiB);
    EXPECT_EQ(run(memory_for(hasher, "$argon2id$v=19$m=4294967295,t=1,p=1$x$y")), 8_KiB);
}

TEST(Hasher, AHashOfOthersCountsWithItsMemory) {
    Hasher hasher({.memory = 8_KiB, .passes = 1, .at_once = 4});
    const std::string rest = "$F9MFXf+yxIqczpzSmV4vNg$S6i0Eg5eCA8KEXccLGFv+5hBDbjWQb666rvwtjLfWc4";
    EXPECT_EQ(run(memory_for(hasher, "$argon2id$v=19$m=8,t=1,p=1" + rest)), 8_KiB);
    EXPECT_EQ(run(memory_for(hasher, "$argon2id$v=19$m=20,t=1,p=1" + rest)), 20_KiB);
    EXPECT_EQ(run(memory_for(hasher, "$argon2id$v=19$m=1024,t=1,p=1" + rest)), 32_KiB)
        << "it is made alone";
}

Task<> hash_one(Hasher& hasher) {
    co_await hasher.hash("correct horse");
}

TEST(Hasher, TheQueueIsBounded) {
    Hasher hasher({.memory = 8_KiB, .passes = 1, .at_once = 2, .waiting_max = 5});
    run([](Hasher& of) -> Task<> {
        Scope scope;
        for (int i = 0; i < 5; ++i) scope.spawn(hash_one(of));
        EXPECT_EQ(of.counters().tasks, 5U);
        EXPECT_EQ(of.counters().memory_bytes, 16_KiB);
        bool refused = false;
        try {
            co_await of.verify("x", "");
        } catch (const TransientError&) {
            refused = true;
        }
        EXPECT_TRUE(refused);
        co_await scope.join();
        EXPECT_EQ(of.counters().tasks, 0U);
        EXPECT_EQ(of.counters().memory_bytes, 0U);
        EXPECT_EQ(of.counters().refused, 1U);
        co_await of.hash("x");
    }(hasher));
}

// Its thread and its memory are in use until the hash is made, also when its client has left.
TEST(Hasher, AHashWhoseTaskHasEndedKeepsItsPlace) {
    Hasher hasher({.memory = 8_MiB, .passes = 4});
    run([](Hasher& of) -> Task<> {
        {
            Scope scope;
            scope.spawn(hash_one(of));
            scope.spawn(hash_one(of));
            EXPECT_EQ(of.counters().tasks, 2U);
        }
        EXPECT_EQ(of.counters().tasks, 0U);
        EXPECT_EQ(of.counters().memory_bytes, 8_MiB)
            << "the one that runs; the other had not begun";
        co_await of.hash("next");  // it waits for that one
        EXPECT_EQ(of.counters().memory_bytes, 0U);
    }(hasher));
}

TEST(HasherDeathTest, OptionsThatNoHashCanHave) {
    EXPECT_DEATH(Hasher({.memory = 8_KiB - 1}), "8 KiB");
    EXPECT_DEATH(Hasher({.memory = 256_MiB + 1}), "256 MiB");
    EXPECT_DEATH(Hasher({.passes = 0}), "1 to 32");
    EXPECT_DEATH(Hasher({.passes = 33}), "1 to 32");
    EXPECT_DEATH(Hasher({.at_once = 0}), "at least");
}

}  // namespace
}  // namespace tiderace::password

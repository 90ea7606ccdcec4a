#include "tiderace/task/locals.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/task/runner_fixture.h"

namespace tiderace::task {
namespace {

std::string* ended;  // what ended, in order

struct Base {
    explicit Base(Runner& r) : runner(&r) {}
    ~Base() { *ended += 'b'; }
    Runner* runner;
};
struct Above {
    explicit Above(Runner& runner) : base(&runner.local<Base>()) {}
    ~Above() { *ended += 'a'; }
    Base* base;
};

using LocalsTest = TaskTest;

TEST_F(LocalsTest, ThereIsOneOfEachTypeForARunner) {
    std::string text;
    ended = &text;
    {
        Runner one(world.loop()), other(world.loop());
        Above& above = one.local<Above>();
        EXPECT_EQ(&one.local<Above>(), &above);
        EXPECT_EQ(&one.local<Base>(), above.base);
        EXPECT_EQ(above.base->runner, &one);
        EXPECT_NE(&other.local<Base>(), above.base);
    }
    EXPECT_EQ(text, "bab") << "what one uses outlives it";
}

TEST_F(LocalsTest, TasksEndBeforeThem) {
    std::string text;
    ended = &text;
    {
        Runner one(world.loop());
        one.local<Base>();
        one.spawn([](std::string* out) -> Task<> {
            const Farewell last(*out, 't');
            co_await sleep(1h);
        }(&text));
    }
    EXPECT_EQ(text, "tb");
}

}  // namespace
}  // namespace tiderace::task

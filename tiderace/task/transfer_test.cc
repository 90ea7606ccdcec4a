#include "tiderace/task/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "tiderace/task/detached.h"
#include "tiderace/task/generator.h"
#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/when.h"
#include "tiderace/task/within.h"

namespace tiderace::task {
namespace {

// How far apart the places are at which coroutines ran on the stack.
class StackUse {
  public:
    [[gnu::noinline]] void note() {
        const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        lowest_ = std::min(lowest_, here);
        highest_ = std::max(highest_, here);
    }
    std::size_t bytes() const { return highest_ - lowest_; }

  private:
    std::uintptr_t lowest_ = UINTPTR_MAX;
    std::uintptr_t highest_ = 0;
};

Task<int> one(StackUse& stack) {
    stack.note();
    co_return 1;
}
Task<int> failing(StackUse& stack) {
    stack.note();
    throw std::runtime_error("no");
    co_return 0;
}

class ATransfer : public TaskTest {
  protected:
    static constexpr int many = 1'000'000;
    // The stack that transfers_max of them may need where no call is a tail call, with
    // AddressSanitizer.
    static constexpr std::size_t bytes_max = 256 * 1'024;

    // Each case takes some hundred MiB of stack in all where it is not constant.
    void need_no_stack(Task<> task, int expected) {
        run(std::move(task));
        EXPECT_EQ(sum, expected);
        EXPECT_LT(stack.bytes(), bytes_max);
    }

    StackUse stack;
    int sum = 0;
};

TEST_F(ATransfer, ToATaskThatEndsAtOnceNeedsNoStackAMillionTimes) {
    need_no_stack(
        [](StackUse& stack, int& sum) -> Task<> {
            for (int i = 0; i < many; ++i) sum += co_await one(stack);
        }(stack, sum),
        many);
}

TEST_F(ATransfer, ToATaskThatThrowsNeedsNone) {
    need_no_stack(
        [](StackUse& stack, int& sum) -> Task<> {
            for (int i = 0; i < many / 10; ++i) {
                try {
                    sum += co_await failing(stack);
                } catch (const std::runtime_error&) {
                    ++sum;
                }
            }
        }(stack, sum),
        many / 10);
}

TEST_F(ATransfer, ThroughManyLevelsNeedsNoneDownAndUp) {
    struct Level {
        static Task<int> down(int levels, StackUse& stack) {
            stack.note();
            if (levels == 0) co_return 0;
            const int below = co_await down(levels - 1, stack);
            stack.note();
            co_return below + 1;
        }
    };
    need_no_stack(
        [](StackUse& stack, int& sum) -> Task<> { sum = co_await Level::down(many / 10, stack); }(
                                          stack, sum),
        many / 10);
}

TEST_F(ATransfer, UpThroughManyLevelsThatWaitedNeedsNone) {
    struct Level {
        static Task<int> down(int levels, StackUse& stack) {
            if (levels == 0) co_await sleep(1ms);
            const int below = levels == 0 ? 0 : co_await down(levels - 1, stack) + 1;
            stack.note();
            co_return below;
        }
    };
    need_no_stack(
        [](StackUse& stack, int& sum) -> Task<> { sum = co_await Level::down(many / 10, stack); }(
                                          stack, sum),
        many / 10);
}

TEST_F(ATransfer, ToAGeneratorAndBackNeedsNone) {
    struct Of {
        static Generator<int> ones(StackUse& stack) {
            for (int i = 0; i < many; ++i) {
                stack.note();
                co_yield 1;
            }
        }
    };
    need_no_stack(
        [](StackUse& stack, int& sum) -> Task<> {
            auto ones = Of::ones(stack);
            while (const auto value = co_await ones.next()) {
                stack.note();
                sum += *value;
            }
        }(stack, sum),
        many);
}

TEST_F(ATransfer, UnderADeadlineNeedsNone) {
    need_no_stack(
        [](StackUse& stack, int& sum) -> Task<> {
            for (int i = 0; i < many / 10; ++i) sum += (co_await within(1s, one(stack))).value();
        }(stack, sum),
        many / 10);
}

TEST_F(ATransfer, ToSeveralTasksAtOnceNeedsNone) {
    need_no_stack(
        [](StackUse& stack, int& sum) -> Task<> {
            for (int i = 0; i < many / 10; ++i) {
                const auto [a, b] = co_await when_all(one(stack), one(stack));
                sum += a + b;
            }
        }(stack, sum),
        2 * (many / 10));
}

TEST_F(ATransfer, ToADetachedTaskNeedsNone) {
    need_no_stack(
        [](StackUse& stack, int& sum) -> Task<> {
            for (int i = 0; i < many / 10; ++i) sum += co_await detached(one(stack));
        }(stack, sum),
        many / 10);
}

// when_all and spawn run a task inside their own call, so it takes the stack of one more call; a
// task in there that has transferred often goes on in there, not behind the call.
TEST_F(ATransfer, ATaskThatAnotherStartsRunsUntilItWaits) {
    struct Of {
        static Task<int> counting(StackUse& stack) {
            int sum = 0;
            for (int i = 0; i < 1'000; ++i) sum += co_await one(stack);
            co_return sum;
        }
    };
    run([](Runner& runner, StackUse& stack, int& sum) -> Task<> {
        std::vector<Task<int>> tasks;
        for (int i = 0; i < 100; ++i) tasks.push_back(Of::counting(stack));
        for (const int value : co_await when_all(std::move(tasks))) sum += value;
        bool over = false;
        runner.spawn([](StackUse& stack, bool& out) -> Task<> {
            co_await Of::counting(stack);
            out = true;
        }(stack, over));
        EXPECT_TRUE(over);
    }(runner, stack, sum));
    EXPECT_EQ(sum, 100'000);
    EXPECT_LT(stack.bytes(), bytes_max);
}

}  // namespace
}  // namespace tiderace::task

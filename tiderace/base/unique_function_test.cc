#include "tiderace/base/unique_function.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace tiderace {
namespace {

// A callable of a chosen size that counts how many of it are alive.
template <std::size_t size_bytes>
struct Counted {
    explicit Counted(int& count) : alive(&count) { ++*alive; }
    Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
    Counted(const Counted&) = delete;
    ~Counted() { --*alive; }
    std::size_t operator()() const { return size_bytes; }

    int* alive;
    std::array<char, size_bytes - sizeof(int*)> ballast{};
};
using Small = Counted<unique_function<void()>::inline_bytes>;
using Large = Counted<unique_function<void()>::inline_bytes + sizeof(void*)>;

template <typename Callable>
class UniqueFunctionOfSize : public ::testing::Test {};
using Sizes = ::testing::Types<Small, Large>;
TYPED_TEST_SUITE(UniqueFunctionOfSize, Sizes);

TYPED_TEST(UniqueFunctionOfSize, OwnsItsCallableAndDestroysItOnce) {
    int alive = 0;
    {
        unique_function<std::size_t()> f = TypeParam(alive);
        EXPECT_EQ(alive, 1);
        EXPECT_EQ(f(), sizeof(TypeParam));
    }
    EXPECT_EQ(alive, 0);
}

TYPED_TEST(UniqueFunctionOfSize, MovingLeavesTheSourceEmpty) {
    int alive = 0;
    unique_function<std::size_t()> from = TypeParam(alive);
    unique_function<std::size_t()> to = std::move(from);
    EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move): that it is empty is promised
    ASSERT_TRUE(to);
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(to(), sizeof(TypeParam));
}

TYPED_TEST(UniqueFunctionOfSize, AssigningDestroysTheOldCallable) {
    int alive = 0, alive_next = 0;
    unique_function<std::size_t()> f = TypeParam(alive);
    f = TypeParam(alive_next);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(alive_next, 1);
    f = nullptr;
    EXPECT_FALSE(f);
    EXPECT_EQ(alive_next, 0);
}

TYPED_TEST(UniqueFunctionOfSize, AssigningItselfKeepsTheCallable) {
    int alive = 0;
    unique_function<std::size_t()> f = TypeParam(alive);
    auto& same = f;
    f = std::move(same);
    ASSERT_TRUE(f);
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(f(), sizeof(TypeParam));
}

TEST(UniqueFunction, HoldsWhatCannotBeCopied) {
    unique_function<int()> f = [number = std::make_unique<int>(5)] { return *number; };
    EXPECT_EQ(f(), 5);
}

TEST(UniqueFunction, KeepsStateBetweenCalls) {
    unique_function<int()> f = [n = 0]() mutable { return ++n; };
    EXPECT_EQ(f(), 1);
    EXPECT_EQ(f(), 2);
}

TEST(UniqueFunction, PassesReferencesAndMoveOnlyArguments) {
    unique_function<void(int&, std::unique_ptr<int>)> f = [](int& out, std::unique_ptr<int> in) {
        out = *in;
    };
    int out = 0;
    f(out, std::make_unique<int>(9));
    EXPECT_EQ(out, 9);
}

TEST(UniqueFunction, TakesFunctionsAndNoMembers) {
    struct Greeter {
        std::string greet(const std::string& name) { return "hello " + name; }
    };
    using Greeting = unique_function<std::string(Greeter&, const std::string&)>;
    static_assert(!std::is_constructible_v<Greeting, decltype(&Greeter::greet)>);
    unique_function<std::size_t(const char*)> length =
        +[](const char* text) -> std::size_t { return std::string(text).size(); };
    EXPECT_EQ(length("four"), 4U);
}

TEST(UniqueFunction, ReturnsAReferenceToTheSameObject) {
    int number = 1;
    unique_function<int&()> f = [&]() -> int& { return number; };
    f() = 2;
    EXPECT_EQ(number, 2);
}

TEST(UniqueFunction, OfVoidDropsWhatItsCallableReturns) {
    int calls = 0;
    unique_function<void()> f = [&] { return ++calls; };
    f();
    EXPECT_EQ(calls, 1);
}

TEST(UniqueFunction, MayReplaceNothingWithSomething) {
    unique_function<int()> f;
    EXPECT_FALSE(f);
    f = [] { return 3; };
    ASSERT_TRUE(f);
    EXPECT_EQ(f(), 3);
}

TEST(UniqueFunctionDeathTest, CallingAnEmptyOneAborts) {
    unique_function<void()> f;
    EXPECT_DEATH(f(), "call of an empty unique_function");
}

}  // namespace
}  // namespace tiderace

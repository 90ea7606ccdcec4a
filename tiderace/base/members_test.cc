#include "tiderace/base/members.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <concepts>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tiderace {
namespace {

struct Point {
    int x;
    int y;
};

struct Empty {};

struct Everything {
    int id;
    std::string name;
    Point point;
    std::optional<int> maybe;
    std::vector<Point> points;
    std::map<std::string, int> by_name;
    std::variant<int, std::string> either;
    std::array<int, 3> three;
    std::unique_ptr<Point> owned;
    std::chrono::system_clock::time_point when;
    std::optional<std::string> maybe_text;
    bool flag;
    std::optional<Point> maybe_point;
    const char* literal;
    std::string_view view;
    double größe;
};

struct Largest {
    int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2,
        c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3, e4, e5,
        e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, g0, g1, g2, last;
};

template <typename T>
std::vector<std::string> member_names_of() {
    return {member_names<T>.begin(), member_names<T>.end()};
}

TEST(Members, AreCountedWhateverTheirTypes) {
    EXPECT_EQ(member_count<Empty>, 0u);
    EXPECT_EQ(member_count<Point>, 2u);
    EXPECT_EQ(member_count<Everything>, 16u);
    EXPECT_EQ(member_count<Largest>, members_max);
}

TEST(Members, AreNamedAsTheSourceSpellsThem) {
    EXPECT_EQ(member_names_of<Everything>(),
              (std::vector<std::string>{"id", "name", "point", "maybe", "points", "by_name",
                                        "either", "three", "owned", "when", "maybe_text", "flag",
                                        "maybe_point", "literal", "view", "größe"}));
    EXPECT_EQ(member_names<Largest>.back(), "last");
    struct InAFunction {
        int alpha;
        std::string beta;
    };
    EXPECT_EQ(member_names_of<InAFunction>(), (std::vector<std::string>{"alpha", "beta"}));
}

TEST(Members, AreReachedByReference) {
    Point point = {1, 2};
    for_each_member(point,
                    [](std::string_view name, int& member) { member = name == "x" ? 10 : 20; });
    EXPECT_EQ(point.x, 10);
    EXPECT_EQ(point.y, 20);

    const Point fixed = {3, 4};
    int sum = 0;
    for_each_member(fixed, [&](std::string_view, const int& member) { sum += member; });
    EXPECT_EQ(sum, 7);
    const Empty nothing;
    for_each_member(nothing, [](auto...) { FAIL() << "has no member"; });
}

TEST(Members, HaveTheTypesOfTheirDeclaration) {
    struct Mixed {
        const int fixed;
        std::string text;
    };
    EXPECT_TRUE((std::same_as<MemberTypes<Mixed>, TypeList<int, std::string>>));
    EXPECT_TRUE((std::same_as<MemberTypes<Empty>, TypeList<>>));
}

TEST(Members, AreOfPlainStructsOnly) {
    struct Made {
        explicit Made(int n) : value(n) {}
        int value;
    };
    EXPECT_TRUE(PlainStruct<Point>);
    EXPECT_FALSE(PlainStruct<Made>);
    EXPECT_FALSE(PlainStruct<int>);
    EXPECT_FALSE((PlainStruct<std::array<int, 3>>));
    EXPECT_FALSE(PlainStruct<std::string>);
}

}  // namespace
}  // namespace tiderace

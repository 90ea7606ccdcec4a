#include "tiderace/base/enum_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiderace {
namespace {

enum class Color { red, green = 3, blue = 63, infrared = 64, none = -1 };
enum class Switch : std::uint8_t { off, on };
enum Plain : int { plain_one = 1, plain_two };
enum Open { open_one };  // its underlying type is the compiler's choice
enum class Wide { zero, far = 100 };

}  // namespace

template <>
inline constexpr int enum_value_max<Wide> = 127;

namespace {

template <typename E>
std::vector<std::string> enumerators_of() {
    std::vector<std::string> names;
    for (const EnumName& known : enum_names<E>) {
        names.push_back(std::string(known.name) + "=" + std::to_string(known.value));
    }
    return names;
}

TEST(EnumNames, AreThoseOfTheSource) {
    EXPECT_EQ(enumerators_of<Color>(), (std::vector<std::string>{"red=0", "green=3", "blue=63"}));
    EXPECT_EQ(enumerators_of<Switch>(), (std::vector<std::string>{"off=0", "on=1"}));
    EXPECT_EQ(enumerators_of<Plain>(), (std::vector<std::string>{"plain_one=1", "plain_two=2"}));
    enum class Local { here = 2 };
    EXPECT_EQ(enumerators_of<Local>(), (std::vector<std::string>{"here=2"}));
}

[[maybe_unused]] auto made_in_a_function(int, const std::string&) {
    enum class Deep { one = 1, two };
    return Deep::one;
}

TEST(EnumNames, OfAFunctionWithArgumentsAreFoundToo) {
    using Deep = decltype(made_in_a_function(1, ""));
    EXPECT_EQ(enumerators_of<Deep>(), (std::vector<std::string>{"one=1", "two=2"}));
}

TEST(EnumNames, ReachAsFarAsTheEnumIsSpecializedFor) {
    EXPECT_EQ(enumerators_of<Wide>(), (std::vector<std::string>{"zero=0", "far=100"}));
}

TEST(EnumNames, AreEmptyForValuesWithout) {
    EXPECT_EQ(enum_name(Color::green), "green");
    EXPECT_EQ(enum_name(static_cast<Color>(7)), "");
    EXPECT_EQ(enum_name(Color::infrared), "");
    EXPECT_EQ(enum_name(Color::none), "");
}

TEST(EnumNames, NeedAFixedUnderlyingType) {
    EXPECT_TRUE(NamedEnum<Color>);
    EXPECT_TRUE(NamedEnum<Plain>);
    EXPECT_FALSE(NamedEnum<Open>);
    EXPECT_FALSE(NamedEnum<int>);
}

}  // namespace
}  // namespace tiderace

#include "tiderace/http/route/placed_pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::route {
namespace {

template <RoutePattern pattern>
std::string constant() {
    return std::string(pattern.view()) + to_string(pattern.place());
}
constexpr unsigned line_of_the_template = __LINE__ + 3;
template <PatternText pattern>
std::string through_a_template() {
    return constant<pattern>();
}
std::string made(const PlacedPattern& pattern) {
    return pattern.text + to_string(pattern.place);
}
std::string here(unsigned line) {
    return " (placed_pattern_test.cc:" + std::to_string(line) + ")";
}

TEST(PlacedPattern, IsWhereItsTextStands) {
    EXPECT_EQ(constant<"/users/{id}">(), "/users/{id}" + here(__LINE__));
    EXPECT_EQ(made("/a"), "/a" + here(__LINE__));
    EXPECT_EQ(made(std::string("/b")), "/b" + here(__LINE__));
    EXPECT_EQ(made({"/c", Place("folder/other.cc", 7)}), "/c (other.cc:7)");
}

TEST(PlacedPattern, OfATemplateStandsInTheTemplate) {
    EXPECT_EQ(through_a_template<"/a">(), "/a" + here(line_of_the_template));
}

TEST(Place, IsNothingWhereItIsUnknown) {
    EXPECT_EQ(to_string(Place()), "");
}

#line 9 "/src/a_file_whose_name_is_longer_than_32_bytes.cc"
TEST(PlacedPattern, OfALongNameTheEndIsKept) {
    EXPECT_EQ(constant<"/">(), "/ (_name_is_longer_than_32_bytes.cc:10)");
}

}  // namespace
}  // namespace tiderace::http::route

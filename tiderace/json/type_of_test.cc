#include "tiderace/json/type_of.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tiderace/json/checked.h"

namespace tiderace::json {
namespace {

enum class Mood { calm, rough };
enum class Code { none, some };

struct Circle {
    double radius;
};
struct Square {
    double side;
};
template <typename T>
struct Box {
    T inside;
};
struct Tree {
    std::string name;
    std::vector<Tree> branches;
    std::unique_ptr<Tree> root;
    std::map<std::string, Tree> by_name;
};

}  // namespace

template <>
inline constexpr bool enum_as_number<Code> = true;

namespace {

TEST(JsonTypeOf, KnowsWhatIsWhat) {
    EXPECT_EQ(type_of<bool>.kind, Kind::boolean);
    EXPECT_EQ(type_of<long>.kind, Kind::integer);
    EXPECT_EQ(type_of<float>.bytes, 4);
    EXPECT_EQ(type_of<std::string>.kind, Kind::text);
    EXPECT_EQ(type_of<std::string_view>.kind, Kind::text_view);
    EXPECT_EQ(type_of<Mood>.kind, Kind::enumeration);
    EXPECT_EQ(type_of<Code>.kind, Kind::integer);
    EXPECT_EQ(type_of<std::deque<bool>>.kind, Kind::list);
    EXPECT_EQ((type_of<std::array<int, 3>>.list->fixed), 3u);
    EXPECT_EQ((type_of<std::map<std::string, int>>.kind), Kind::map);
    EXPECT_EQ(type_of<std::optional<int>>.kind, Kind::optional);
    EXPECT_EQ(type_of<std::unique_ptr<int>>.kind, Kind::optional);
    EXPECT_EQ((type_of<std::variant<int, bool>>.kind), Kind::variant);
    EXPECT_EQ((type_of<Range<int, 1, 2>>.kind), Kind::checked);
    EXPECT_EQ(type_of<std::chrono::sys_time<std::chrono::milliseconds>>.time->per_second, 1000);
    EXPECT_EQ(type_of<Circle>.kind, Kind::object);
}

TEST(JsonTypeOf, NamesMembersAndTypes) {
    const ObjectShape& tree = *type_of<Tree>.object;
    EXPECT_EQ(tree.name, "Tree");
    ASSERT_EQ(tree.members.size(), 4u);
    EXPECT_EQ(tree.members[1].name, "branches");
    EXPECT_EQ(tree.members[1].type->list->element, &type_of<Tree>) << "a type may hold itself";
    EXPECT_EQ(type_of<Box<int>>.object->name, "Box");
    EXPECT_EQ(type_of<Mood>.enumeration->name, "Mood");
}

TEST(JsonTypeOf, TagsAlternativesThatLookAlike) {
    EXPECT_FALSE(is_tagged(*type_of<std::variant<int, std::string, Circle>>.variant));
    EXPECT_TRUE(is_tagged(*type_of<std::variant<Circle, Square>>.variant));
    EXPECT_TRUE(is_tagged(*type_of<std::variant<int, double>>.variant));
    EXPECT_EQ(expected_text(type_of<std::variant<Circle, Square>>),
              R"(an object with one member, called "Circle" or "Square")");
    EXPECT_EQ(expected_text(type_of<std::variant<bool, Mood>>),
              R"(true or false or one of "calm", "rough")");
}

}  // namespace
}  // namespace tiderace::json

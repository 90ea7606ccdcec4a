#include "tiderace/json/likes.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "tiderace/json/checked.h"

namespace tiderace::json {
namespace {

enum class Sort : short { first };

TEST(JsonLikes, KnowTypesByWhatTheyCanDo) {
    EXPECT_TRUE((MapLike<std::map<std::string, int>> && MapLike<std::map<Sort, int>>));
    EXPECT_TRUE((MapLike<std::map<unsigned char, int>>));
    EXPECT_FALSE((MapLike<std::map<bool, int>> || MapLike<std::map<char, int>>));
    EXPECT_FALSE((MapLike<std::map<double, int>> || MapLike<std::map<std::vector<int>, int>>));
    EXPECT_FALSE((MapLike<std::unordered_map<std::string, int>>));
    EXPECT_TRUE((ListLike<std::vector<int>> && ListLike<std::deque<bool>>));
    EXPECT_FALSE((ListLike<std::array<int, 2>>));
    EXPECT_TRUE((ArrayLike<std::array<int, 2>>));
    EXPECT_TRUE(OptionalLike<std::optional<int>> && OwnerLike<std::unique_ptr<int>>);
    EXPECT_TRUE(VariantLike<std::variant<int>> && TimeLike<std::chrono::sys_seconds>);
    EXPECT_TRUE((CheckedLike<Range<int, 1, 2>> && !CheckedLike<int>));
}

}  // namespace
}  // namespace tiderace::json

#include "tiderace/json/views.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tiderace/json/checked.h"

namespace tiderace::json {
namespace {

struct Owning {
    std::string text;
    std::vector<Owning> more;
    std::unique_ptr<Owning> one;
};
struct Seeing {
    int number;
    std::string_view text;
};
struct Deep {
    std::vector<std::optional<std::map<std::string, Seeing>>> inside;
};

TEST(JsonViews, AreFoundAtAnyDepth) {
    EXPECT_TRUE(holds_view<std::string_view>());
    EXPECT_TRUE(holds_view<Seeing>());
    EXPECT_TRUE(holds_view<Deep>());
    EXPECT_TRUE((holds_view<std::variant<int, Seeing>>()));
    EXPECT_TRUE(holds_view<Default<std::string_view>>());
    EXPECT_TRUE(holds_view<std::unique_ptr<Seeing>>());
}

TEST(JsonViews, AreNotSeenWhereThereIsNone) {
    EXPECT_FALSE(holds_view<Owning>());
    EXPECT_FALSE(holds_view<int>());
    EXPECT_FALSE((holds_view<std::variant<int, Owning>>()));
}

}  // namespace
}  // namespace tiderace::json

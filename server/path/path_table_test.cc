#include "server/path/path_table.h"

#include <gtest/gtest.h>

namespace tiderace::server {
namespace {

TEST(PathTable, TheLongestPathCounts) {
    PathTable<int> table;
    EXPECT_EQ(table.find("/"), nullptr);
    table.set("/api/deep", 2);
    table.set("/api", 1);
    table.set("/apis", 3);
    const auto found = [&](std::string_view path) {
        const int* value = table.find(path);
        return value != nullptr ? *value : -1;
    };
    EXPECT_EQ(found("/"), -1);
    EXPECT_EQ(found("/ap"), -1);
    EXPECT_EQ(found("/api"), 1);
    EXPECT_EQ(found("/api/"), 1);
    EXPECT_EQ(found("/api/deeper"), 1);
    EXPECT_EQ(found("/api/deep/er"), 2);
    EXPECT_EQ(found("/apis/deep"), 3);
    table.set("/api", 4);
    EXPECT_EQ(found("/api"), 4) << "the last one of a path counts";
    EXPECT_EQ(found("*"), -1);
    table.set("", 0);
    EXPECT_EQ(found("*"), 0);
    EXPECT_EQ(found("/"), 0);
    EXPECT_EQ(found("/api/x"), 4);
}

}  // namespace
}  // namespace tiderace::server

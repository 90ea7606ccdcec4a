#include "tiderace/http/app/checks/route_checks.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::app_parts {
namespace {

// What does not fit does not compile: tools/wrong_handlers_test.py has a sentence for each.
TEST(RouteChecks, LetWhatFitsPass) {
    using Page = decltype([] { return "text"; });
    using User = decltype([](int id, std::string_view name) { return id + name.size(); });
    EXPECT_TRUE(is_handler<Page>() && is_handler<User>());
    EXPECT_TRUE((fits<"/", Page, 0>()));
    EXPECT_TRUE((fits<"/{id}/{name}", User, 0>()));
    EXPECT_TRUE((fits<"/{name}", User, 1>()));
}

TEST(RouteChecks, KnowWhatRefersToSomethingElse) {
    EXPECT_TRUE(borrows<const std::string&> && borrows<task::Task<std::string_view>>);
    EXPECT_TRUE((borrows<std::expected<int, std::string_view>>));
    EXPECT_FALSE(borrows<std::string> || borrows<const char*> || borrows<void>);
    EXPECT_FALSE(borrows<task::Task<>> || borrows<std::optional<const char*>>);
}

}  // namespace
}  // namespace tiderace::http::app_parts

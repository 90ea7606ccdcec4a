#include "server/site/path_options.h"

#include <gtest/gtest.h>

#include "server/options.h"

namespace tiderace::server {
namespace {

TEST(PathOptions, NoPathHasRulesUnlessGiven) {
    const PathOptions paths = ServeOptions{}.paths;
    EXPECT_TRUE(paths.auth.empty() && paths.cors.empty() && paths.rates.empty());
    EXPECT_TRUE(paths.headers.empty() && paths.error_pages.empty() && paths.logs.empty());
    EXPECT_TRUE(paths.answers.empty() && paths.compress.empty());
    EXPECT_FALSE(PathRate{}.limit) << "an unset limit is none";
    EXPECT_FALSE(PathCors{}.origin);
}

}  // namespace
}  // namespace tiderace::server

#include "tiderace/http/route/glob.h"

#include <gtest/gtest.h>

namespace tiderace::http::route {
namespace {

TEST(Glob, HoldsAtAPathAloneAtAGlobAndBelowAPrefix) {
    EXPECT_TRUE(holds_at("=/a", "/a"));
    EXPECT_FALSE(holds_at("=/a", "/a/b"));
    EXPECT_TRUE(holds_at("/a", "/a"));
    EXPECT_TRUE(holds_at("/a", "/a/b"));
    EXPECT_FALSE(holds_at("/a", "/ab"));
    EXPECT_TRUE(holds_at("", "/ab"));
    EXPECT_TRUE(holds_at("*.php", "/a.php/info"));
    EXPECT_FALSE(holds_at("*.php", "/a.phps"));
}

TEST(Glob, MatchesAsItsTableSays) {
    struct Case {
        const char* pattern;
        const char* path;
        bool matches;
    };
    const Case cases[] = {
        {"*.css", "/a.css", true},
        {"*.css", "/deep/er/a.css", true},
        {"*.css", "/a.css/b", false},
        {"*.css", "/a.scss", false},
        {"*", "/any/thing", true},
        {"/*", "/one", true},
        {"/*", "/one/two", false},
        {"/**", "/one/two", true},
        {"/assets/**", "/assets/a/b.js", true},
        {"/assets/**", "/asset/a/b.js", false},
        {"assets/**", "/assets/a.js", true},
        {"/a/**/z", "/a/b/c/z", true},
        {"/a/**/z", "/a/b/c/y", false},
        {"/a/**.js", "/a/b/c.js", true},
        {"/a/*/c", "/a/b/c", true},
        {"/a/*/c", "/a/b/b/c", false},
        {"img-?.png", "/x/img-1.png", true},
        {"img-?.png", "/x/img-12.png", false},
        {"/a?b", "/a/b", false},
        {"/**/b*d", "/a/bcd/bxd", true},
        {"/**/b*d", "/a/bcd/bx/d", false},
        {"", "/a", false},
        {"", "/", true},
        {"a*b*c", "/aXbYbZc", true},
        {"a*b*c", "/aXbYbZ", false},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(matches_glob(c.pattern, c.path), c.matches) << c.pattern << ' ' << c.path;
    }
}

TEST(Glob, LooksAtNothingBehindItsPattern) {
    const ByteView whole = "/a/**";
    EXPECT_TRUE(matches_glob(whole, "/a/b/c"));
    EXPECT_FALSE(matches_glob(whole.substr(0, 4), "/a/b/c"));
    EXPECT_TRUE(matches_glob(whole.substr(0, 4), "/a/b"));
    EXPECT_TRUE(matches_glob(ByteView("/a*").substr(0, 2), "/a"));
    EXPECT_FALSE(matches_glob(ByteView("/a?").substr(0, 2), "/ab"));
    EXPECT_FALSE(matches_glob(ByteView("/a*").substr(0, 2), "/ab"));
    EXPECT_TRUE(matches_glob(ByteView("*aa").substr(0, 2), "/aa"));
}

TEST(Glob, AHostilePatternDoesNotBlowUp) {
    std::string pattern;
    for (int i = 0; i < 50; ++i) pattern += "*a";
    EXPECT_FALSE(matches_glob(pattern, "/" + std::string(5000, 'a') + "b"));
    EXPECT_FALSE(matches_glob(pattern + "ba", "/" + std::string(5000, 'a'))) << "ends alike";
}

}  // namespace
}  // namespace tiderace::http::route

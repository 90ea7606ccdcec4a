#include "tiderace/http/route/glob.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

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
        {"/a/**/z", "/a/z", true},
        {"/a/**/z", "/az", false},
        {"/a/**/z", "/a/bz", false},
        {"/a/**/z", "/a/b/z/z", true},
        {"/a/**/b/**/c", "/a/b/c", true},
        {"/a/**/b/**/c", "/a/x/b/y/c", true},
        {"/a/**/b/**/c", "/a/x/c/b", false},
        {"/a/**/b*/c", "/a/b/x/bb/c", true},
        {"/a/**/?", "/a/b", true},
        {"/**/z", "/z", true},
        {"**/z", "/z", true},
        {"**/z", "/a/yz", false},
        {"/a/**/**", "/a/", true},
        {"/a**/z", "/az", false},
        {"/a**/z", "/a/z", true},
        {"/a**/z", "/ab/c/z", true},
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

// By the rules of glob.h, with every way that a star could go.
bool matches_naively(ByteView pattern, ByteView text, bool at_segment = true) {
    if (pattern.empty()) return text.empty();
    if (at_segment && pattern.starts_with("**/")) {
        for (std::size_t at = 0; at != ByteView::npos;) {
            if (matches_naively(pattern.substr(3), text.substr(at))) return true;
            const std::size_t slash = text.find('/', at);
            at = slash != ByteView::npos ? slash + 1 : slash;
        }
        return false;
    }
    if (pattern[0] == '*') {
        const bool is_double = pattern.starts_with("**");
        for (std::size_t end = 0;; ++end) {
            if (matches_naively(pattern.substr(is_double ? 2 : 1), text.substr(end), false)) {
                return true;
            }
            if (end == text.size() || (!is_double && text[end] == '/')) return false;
        }
    }
    const bool is_same =
        !text.empty() && (pattern[0] == text[0] || (pattern[0] == '?' && text[0] != '/'));
    return is_same && matches_naively(pattern.substr(1), text.substr(1), pattern[0] == '/');
}

TEST(Glob, MatchesAsANaiveMatcherDoes) {
    std::minstd_rand random(1);  // NOLINT: the same each time
    const auto text_of = [&](std::string_view characters, std::size_t length_max) {
        std::string text = "/";
        for (std::size_t n = random() % length_max; n > 0; --n) {
            text += characters[random() % characters.size()];
        }
        return text;
    };
    std::size_t matched = 0;
    for (int i = 0; i < 200'000; ++i) {
        const std::string pattern = text_of("ab/***?", 9);
        const std::string path = text_of("aab/", 9);
        // Three stars in a row are a "**" and a "*".
        if (pattern.contains("***")) continue;
        const bool is_match = matches_naively(pattern.substr(1), path.substr(1));
        matched += is_match ? 1 : 0;
        ASSERT_EQ(matches_glob(pattern, path), is_match) << pattern << ' ' << path;
    }
    EXPECT_GT(matched, 10'000U);
}

TEST(Glob, KnowsWhatItsStarsStandFor) {
    struct Case {
        const char* pattern;
        const char* path;
        std::vector<ByteView> texts;
    };
    const Case cases[] = {
        {"*.php", "/b/a.php/x", {"a"}},
        {"/a/*/c", "/a/b/c", {"b"}},
        {"/blog/*-*", "/blog/2026-11-x/y", {"2026", "11-x"}},
        {"/a/**/z", "/a/b/c/z", {"b/c"}},
        {"/a/**/z", "/a/z", {""}},
        {"/a/**", "/a/b/c", {"b/c"}},
        {"/**/b*d", "/a/bcd/bxd", {"a", "c"}},
        {"/a?/*", "/ab/c", {"c"}},
        {"/a*", "/a", {""}},
    };
    for (const Case& c : cases) {
        Captures captures;
        ASSERT_TRUE(glob_holds(c.pattern, c.path, &captures)) << c.pattern;
        EXPECT_EQ(std::vector(captures.texts.begin(), captures.texts.begin() + captures.count),
                  c.texts)
            << c.pattern;
        EXPECT_EQ(captures.count, stars_of(c.pattern));
    }
    Captures captures;
    EXPECT_TRUE(glob_holds("*a*a*a*a*a*a*a*a*a*a*a*", "/aaaaaaaaaaa", &captures));
    EXPECT_EQ(captures.count, captures_max);
    EXPECT_EQ(stars_of("/a/b?"), 0U);
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

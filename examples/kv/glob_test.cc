#include "examples/kv/glob.h"

#include <string>

#include <gtest/gtest.h>

namespace kv {
namespace {

TEST(Glob, MatchesAsRedisDoes) {
    const struct {
        const char* pattern;
        const char* text;
        bool matches;
    } table[] = {
        {"*", "", true},
        {"", "", true},
        {"", "a", false},
        {"h?llo", "hello", true},
        {"h?llo", "hllo", false},
        {"h*llo", "heeello", true},
        {"*a*b*", "xxaxxbxx", true},
        {"*a*b", "xxbxxa", false},
        {"h[ae]llo", "hallo", true},
        {"h[ae]llo", "hillo", false},
        {"h[^e]llo", "hallo", true},
        {"h[^e]llo", "hello", false},
        {"h[a-c]llo", "hbllo", true},
        {"h[c-a]llo", "hbllo", true},
        {"h[a-c]llo", "hdllo", false},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"[\\]]", "]", true},
        {"[", "a", false},
        {"a\\", "a\\", true},
        {"a**b", "ab", true},
        {"[a-", "a", true},
        {"a", "aa", false},
    };
    for (const auto& each : table) {
        EXPECT_EQ(glob_matches(each.pattern, each.text), each.matches)
            << each.pattern << " and " << each.text;
    }
}

TEST(Glob, ManyStarsTakeNoExponentialTime) {
    std::string pattern;
    for (int i = 0; i < 50; ++i) pattern += "a*";
    EXPECT_FALSE(glob_matches(pattern + "b", std::string(5'000, 'a')));
}

}  // namespace
}  // namespace kv

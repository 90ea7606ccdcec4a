#include "examples/kv/glob.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tiderace/base/random.h"

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
        EXPECT_EQ(Glob(each.pattern).matches(each.text), each.matches)
            << each.pattern << " and " << each.text;
    }
}

// The plainest matcher there is, for patterns of letters, '?', '*' and the set [ab].
bool model_matches(ByteView pattern, ByteView text) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] == '*') {
        return model_matches(pattern.substr(1), text) ||
               (!text.empty() && model_matches(pattern, text.substr(1)));
    }
    if (text.empty()) return false;
    const bool is_set = pattern.starts_with("[ab]");
    const bool here =
        is_set ? text[0] == 'a' || text[0] == 'b' : pattern[0] == '?' || pattern[0] == text[0];
    return here && model_matches(pattern.substr(is_set ? 4 : 1), text.substr(1));
}

// Many texts for one pattern: after the first that takes many steps all go the other way.
TEST(Glob, MatchesAsTheModelDoesWhicheverWay) {
    tiderace::Random random(9);
    constexpr std::string_view parts[] = {"a", "b", "?", "*", "*", "[ab]"};
    for (int i = 0; i < 2'000; ++i) {
        std::string pattern;
        for (std::uint64_t n = random.below(8); n > 0; --n) pattern += parts[random.below(6)];
        Glob step_by_step(pattern);
        const std::string hostile = std::string(70, '*') + std::string(600, '?') + pattern;
        Glob long_places(hostile);
        static_cast<void>(long_places.matches(std::string(599, 'a') + "c" + std::string(400, 'a')));
        for (int j = 0; j < 10; ++j) {
            std::string text;
            for (std::uint64_t n = random.below(9); n > 0; --n)
                text += random.chance(1, 2) ? 'a' : 'b';
            const bool wanted = model_matches(pattern, text);
            EXPECT_EQ(step_by_step.matches(text), wanted) << pattern << " and " << text;
            EXPECT_EQ(long_places.matches(std::string(600, 'x') + text),
                      model_matches("*" + pattern, text))
                << pattern << " and " << text;
        }
    }
}

// Each was pattern times text, a thousand million steps; the limit of time for tests would show it.
TEST(Glob, HostilePatternsTakeALinearTime) {
    const std::string as(1'000'000, 'a');
    std::string stars;
    for (int i = 0; i < 500; ++i) stars += "a*";
    EXPECT_FALSE(Glob(stars + "b").matches(as));
    EXPECT_FALSE(Glob("*" + std::string(1'000, 'a') + "b").matches(as));
    EXPECT_TRUE(Glob("*" + std::string(1'000, 'a') + "b").matches(as + "b"));
    EXPECT_FALSE(Glob("*" + std::string(1'000, '?') + "b").matches(as));
    EXPECT_FALSE(Glob("*[" + std::string(1'000, 'b') + "]").matches(as));
}

}  // namespace
}  // namespace kv

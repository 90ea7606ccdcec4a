#include "tiderace/http/route/regex.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tiderace::http::route {
namespace {

using Answer = Regex::Answer;

class RegexTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!has_regexes()) GTEST_SKIP() << "this build is without PCRE2";
    }
    static std::shared_ptr<const Regex> compiled(std::string_view expression) {
        auto regex = compile_regex(expression);
        EXPECT_TRUE(regex) << expression << ": " << regex.error().what;
        return regex ? *regex : nullptr;
    }
    static std::vector<std::string> groups(const Regex& regex, ByteView path) {
        Captures captures;
        EXPECT_EQ(regex.match(path, &captures), Answer::yes);
        std::vector<std::string> all;
        for (std::size_t i = 0; i < captures.count; ++i) all.emplace_back(captures.texts[i]);
        return all;
    }
};

using Texts = std::vector<std::string>;

TEST_F(RegexTest, MatchesAnywhereUnlessItHasAnchors) {
    struct Case {
        const char* regex;
        ByteView path;
        bool matches;
    };
    const Case cases[] = {
        {"^/user/([0-9]+)$", "/user/17", true},
        {"^/user/([0-9]+)$", "/user/17/x", false},
        {"\\.php$", "/a.php", true},
        {"\\.php$", "/a.php/info", false},
        {"\\.php", "/a.php/info", true},
        {"(?i)\\.PHP$", "/a.php", true},
        {"^/a(?!b)", "/ab", false},
        {"", "/", true},
        // '.' and '$' as an access rule means them.
        {"^/secret/.*$", "/secret/a\nb", true},
        {"\\.php$", "/a.php\n", false},
        // Bytes: a path need not be UTF-8.
        {"^/..$", "/\xC3\xA9", true},
        {"^/secret/.*\\.php$", "/secret/\xFF.php", true},
        {"^/\xC3\xA9$", "/\xC3\xA9", true},
        {"^/a.b$", ByteView("/a\0b", 4), true},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(compiled(each.regex)->match(each.path) == Answer::yes, each.matches)
            << each.regex << " at " << each.path;
    }
}

TEST_F(RegexTest, GroupsAreCaptures) {
    EXPECT_EQ(groups(*compiled("^/(a+)/(b+)?(c)$"), "/aa/c"), (Texts{"aa", "", "c"}));
    EXPECT_EQ(groups(*compiled("^/x(y)?$"), "/x"), Texts{""});
    EXPECT_EQ(groups(*compiled("^/x"), "/x"), Texts{});
    const auto many = compiled("(1)(2)(3)(4)(5)(6)(7)(8)(9)(a)(b)");
    EXPECT_EQ(many->groups(), 11U);
    EXPECT_EQ(groups(*many, "/123456789ab").size(), captures_max);
    // The match of before leaves nothing behind.
    EXPECT_EQ(groups(*compiled("^/x(y)?$"), "/x"), Texts{""});
}

TEST_F(RegexTest, GroupsHaveNames) {
    const auto regex = compiled("^/(a)(?<id>[0-9]+)$");
    EXPECT_EQ(regex->group("id"), 2U);
    EXPECT_FALSE(regex->group("other"));
    EXPECT_FALSE(compiled("(?J)(?<n>a)|(?<n>b)")->group("n")) << "which of them?";
}

TEST_F(RegexTest, AFaultHasItsPlace) {
    const auto fault = [](std::string_view expression) {
        const auto regex = compile_regex(expression);
        return regex ? RegexFault{"none"} : regex.error();
    };
    EXPECT_EQ(fault("^/a(b").what, "missing closing parenthesis");
    EXPECT_EQ(fault("^/a(b").at, 5U);
    EXPECT_EQ(fault("^/a[b").at, 5U);
    EXPECT_EQ(fault("^/*?+").at, 4U) << fault("^/*?+").what;
    EXPECT_NE(fault("(*UTF)a").what, "none") << "invalid UTF-8 would be no match";
    EXPECT_NE(fault("(*UCP)a").what, "none");
    EXPECT_NE(fault(std::string(Regex::regex_bytes_max + 1, 'a')).what, "none");
    EXPECT_EQ(fault(std::string(Regex::regex_bytes_max, 'a')).what, "none");
}

// Both by machine code and without it, as where a system refuses memory for that.
TEST_F(RegexTest, AMatchThatTakesTooLongGivesUp) {
    for (const std::string begin : {"", "(*NO_JIT)"}) {
        for (const std::size_t bytes : {std::size_t{40}, std::size_t{16} << 10}) {
            const auto regex = compiled(begin + "^/(a+)+$");
            const std::string path = "/" + std::string(bytes, 'a');
            EXPECT_EQ(regex->match(path + "!"), Answer::gave_up) << bytes;
            EXPECT_EQ(regex->match(path), Answer::yes) << "what matches is found at once";
            EXPECT_EQ(compiled(begin + "(?:.*a){9}z$")->match(path + "!z"), Answer::gave_up);
        }
        EXPECT_EQ(compiled(begin + "(*LIMIT_MATCH=4000000000)^/(a+)+$")
                      ->match("/" + std::string(40, 'a') + "!"),
                  Answer::gave_up)
            << "an expression cannot raise the limit";
        EXPECT_EQ(compiled(begin + "^(?R)?.$")->match("/a"), Answer::gave_up) << "endless";
        // A usual one has room for the longest path.
        std::string deep;
        while (deep.size() < std::size_t{16} << 10) deep += "/ab-c";
        EXPECT_EQ(compiled(begin + "^(/[a-z-]+)+$")->match(deep), Answer::yes);
        EXPECT_EQ(compiled(begin + "^(/[a-z-]+)+$")->match(deep + "/A"), Answer::no);
    }
}

TEST_F(RegexTest, ManyThreadsShareOne) {
    const auto regex = compiled("^/([a-z]+)/([0-9]+)$");
    std::vector<std::thread> threads;
    std::vector<int> right(4);
    for (std::size_t i = 0; i < right.size(); ++i) {
        threads.emplace_back([&, i] {
            const std::string path = "/" + std::string(i + 1, 'a') + "/" + std::to_string(i);
            for (int round = 0; round < 1'000; ++round) {
                Captures captures;
                const bool holds = regex->match(path, &captures) == Answer::yes;
                right[i] += holds && captures.texts[0].size() == i + 1 &&
                            captures.texts[1] == std::to_string(i);
            }
        });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(right, std::vector<int>(4, 1'000));
}

}  // namespace
}  // namespace tiderace::http::route

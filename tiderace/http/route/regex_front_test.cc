#include "tiderace/http/route/regex_front.h"

#include <gtest/gtest.h>

namespace tiderace::http::route {
namespace {

TEST(RegexFront, IsThePlainTextAtTheBegin) {
    struct Case {
        ByteView regex;
        ByteView text;
        bool is_all = false;
    };
    constexpr Case cases[] = {
        {"^/shop/item-([0-9]+)$", "/shop/item-"},
        {"^/a\\.b\\-c/", "/a.b-c/", true},
        {"^/shop", "/shop", true},
        {"^/shop/.*", "/shop/", true},
        {"^/shop/(.*)$", "/shop/", true},
        {"^/shop/.*x", "/shop/"},
        {"^/shop$", "/shop"},
        {"^/(a|b)/x", "/"},
        {"^/x(?:a|[|(]|\\|)y", "/x"},
        {"^/ab?", "/a"},
        {"^/ab{2}", "/a"},
        {"^/ab*", "/a"},
        {"^/a\\d", "/a"},
        {"^/a\\", "/a"},
        {"^", "", true},
        {"", "", true},
        {".*", "", true},
        {"^.*$", "", true},
        // More than is read.
        {"/shop", ""},
        {"^/a|^/b", ""},
        {"^/a(?x) # (\n|b", ""},
        {"^/a(?i)/b", ""},
        {"(?i)^/a", ""},
        {"^/a\\Q|\\E", ""},
        {"^/a(*ACCEPT)", ""},
        {"^/a[[:alpha:]]|b", ""},
        {"^/a[", ""},
        {"^*", ""},
    };
    for (const Case& each : cases) {
        const RegexFront front = front_of(each.regex);
        EXPECT_EQ(front.text, each.text) << each.regex;
        EXPECT_EQ(front.is_all, each.is_all) << each.regex;
    }
}

}  // namespace
}  // namespace tiderace::http::route

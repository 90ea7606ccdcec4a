#include "tiderace/http/route/router.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/base/random.h"

namespace tiderace::http::route {
namespace {

using wire::Method;

Router router_of(std::initializer_list<std::string_view> patterns) {
    Router router;
    std::uint32_t number = 0;
    for (std::string_view pattern : patterns) {
        EXPECT_TRUE(router.add(Method::get, pattern, number++)) << pattern;
    }
    return router;
}

// The pattern found and its parameters: "/users/{id} 7".
std::string answer(const Router& router, std::string_view path, Method method = Method::get) {
    Parameters parameters;
    const Found found = router.find(method, path, parameters);
    if (found.kind == Found::Kind::nothing) return "404";
    if (found.kind == Found::Kind::wrong_method) return "405 " + std::string(found.allow);
    std::string text(router.pattern(found.route));
    for (std::size_t i = 0; i < parameters.count; ++i) {
        text += " " + std::string(parameters.of(path, i));
    }
    return text;
}

TEST(Router, LiteralBeforeParameterBeforeRest) {
    const Router router =
        router_of({"/", "/users", "/users/", "/users/{id}", "/users/me", "/users/{id}/posts/{slug}",
                   "/users/{rest...}", "/files/{path...}", "/users/me/posts/{n}/x"});
    const std::pair<const char*, const char*> rows[] = {
        {"/", "/"},
        {"/users", "/users"},
        {"/users/", "/users/"},
        {"/users/7", "/users/{id} 7"},
        {"/users/me", "/users/me"},
        {"/users/mee", "/users/{id} mee"},
        {"/users/7/posts/a-b", "/users/{id}/posts/{slug} 7 a-b"},
        // "me" leads nowhere here, so the parameter is tried, then the rest.
        {"/users/me/posts/a-b", "/users/{id}/posts/{slug} me a-b"},
        {"/users/me/posts/5/x", "/users/me/posts/{n}/x 5"},
        {"/users/me/posts/5/y", "/users/{rest...} me/posts/5/y"},
        {"/users/7/", "/users/{rest...} 7/"},
        {"/users//", "/users/{rest...} /"},  // an empty segment is no parameter
        {"/files/", "/files/{path...} "},
        {"/files/a/b/c", "/files/{path...} a/b/c"},
        {"/files", "404"},
        {"/nothing", "404"},
        {"", "404"},
        {"*", "404"},
        {"example.org:443", "404"},
    };
    for (const auto& [path, expected] : rows) EXPECT_EQ(answer(router, path), expected) << path;
}

TEST(Router, MethodsAreDistinguished) {
    Router router;
    ASSERT_TRUE(router.add(Method::get, "/a", 1));
    ASSERT_TRUE(router.add(Method::post, "/a", 2));
    ASSERT_TRUE(router.add(Method::delete_, "/a/{id}", 3));
    ASSERT_TRUE(router.add(Method::other, "/any", 4));
    ASSERT_TRUE(router.add(Method::put, "/any", 5));
    EXPECT_EQ(answer(router, "/a", Method::head), "/a");
    EXPECT_EQ(answer(router, "/a", Method::put), "405 GET, HEAD, POST, OPTIONS");
    EXPECT_EQ(answer(router, "/a/1", Method::get), "405 DELETE, OPTIONS");
    Parameters parameters;
    EXPECT_EQ(router.find(Method::patch, "/any", parameters).route, 4u);
    EXPECT_EQ(router.find(Method::put, "/any", parameters).route, 5u);
    EXPECT_EQ(router.find(Method::put, "/any", parameters).allow, "PUT, OPTIONS");
}

TEST(Router, ASegmentIsComparedAndNotItsHashAlone) {
    // Router::hash_of() is the same for both.
    EXPECT_EQ(answer(router_of({"/user5323"}), "/user47789"), "404");
}

TEST(Router, AConflictIsRefusedWithBothPlaces) {
    Router router;
    ASSERT_TRUE(router.add(Method::get, "/users/{id}", 0, Place("/src/main.cc", 9)));
    const auto again = router.add(Method::get, "/users/{name}", 1, Place("/src/users.cc", 12));
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error(),
              "route GET /users/{name} (users.cc:12) conflicts with GET /users/{id} (main.cc:9),"
              " which was added before");
    const auto nowhere = router.add(Method::get, "/users/{key}", 1);
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error(),
              "route GET /users/{key} conflicts with GET /users/{id} (main.cc:9), which was added"
              " before");
    EXPECT_TRUE(router.add(Method::post, "/users/{name}", 1));
    const auto bad = router.add(Method::get, "users", 2, Place("main.cc", 3));
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error(), "route GET users (main.cc:3): a pattern begins with '/'");
}

TEST(Router, TenThousandRoutesAreAllFound) {
    Router router;
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        const std::string n = std::to_string(i);
        ASSERT_TRUE(router.add(Method::get, "/service" + std::to_string(i % 100) + "/" + n, i));
    }
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        const std::string path = "/service" + std::to_string(i % 100) + "/" + std::to_string(i);
        Parameters parameters;
        ASSERT_EQ(router.find(Method::get, path, parameters).route, i) << path;
    }
    EXPECT_EQ(answer(router, "/service1/2"), "404");
}

// A simple matcher that tries the patterns in order of preference, as an oracle.
bool matches(std::string_view pattern, std::string_view path, std::string& rank) {
    rank.clear();
    for (Segments segments(pattern); !segments.done();) {
        const Segment segment = segments.next();
        if (!path.starts_with('/')) return false;
        if (segment.kind == Segment::Kind::rest) {
            rank += 'c';
            return true;
        }
        const std::size_t end = path.find('/', 1);
        const std::string_view text = path.substr(1, end == std::string_view::npos ? end : end - 1);
        path = end == std::string_view::npos ? std::string_view{} : path.substr(end);
        const bool literal = segment.kind == Segment::Kind::literal;
        if (literal ? segment.text != text : text.empty()) return false;
        rank += literal ? 'a' : 'b';
    }
    return path.empty();
}

TEST(Router, RandomRoutesAndPathsAgreeWithASimpleMatcher) {
    Random random(7);
    const std::string_view words[] = {"a", "b", "{x}", "{y...}", "c"};
    for (int round = 0; round < 300; ++round) {
        Router router;
        std::vector<std::string> patterns;
        for (int i = 0; i < 12; ++i) {
            std::string pattern;
            const auto length = 1 + random.below(4);
            for (std::uint64_t j = 0; j < length; ++j) {
                std::string word(words[random.below(5)]);
                if (word == "{x}") word = "{x" + std::to_string(j) + "}";
                pattern += "/" + word;
                if (word == "{y...}") break;
            }
            if (router.add(Method::get, pattern, static_cast<std::uint32_t>(patterns.size()))) {
                patterns.push_back(pattern);
            }
        }
        for (int i = 0; i < 50; ++i) {
            std::string path;
            const auto length = 1 + random.below(5);
            for (std::uint64_t j = 0; j < length; ++j) {
                path += std::string("/") + "abcd"[random.below(4)];
            }
            std::string best_rank;
            std::string best;
            std::string rank;
            for (const std::string& pattern : patterns) {
                if (matches(pattern, path, rank) && (best.empty() || rank < best_rank)) {
                    best = pattern;
                    best_rank = rank;
                }
            }
            Parameters parameters;
            const Found found = router.find(Method::get, path, parameters);
            ASSERT_EQ(found.kind == Found::Kind::route, !best.empty()) << path;
            if (best.empty()) continue;
            EXPECT_EQ(router.pattern(found.route), best) << path;
        }
    }
}

TEST(Router, APathAndAllBelowItForEveryMethod) {
    Router router;
    ASSERT_TRUE(router.add_below("", 0));
    ASSERT_TRUE(router.add_below("/a/{b}", 1));
    ASSERT_TRUE(router.add(Method::get, "/a/{b}/x", 2)) << "a parameter, and not those braces";
    Parameters parameters;
    const auto found = [&](std::string_view path, Method method) {
        const Found one = router.find(method, path, parameters);
        return one.kind == Found::Kind::route ? static_cast<int>(one.route) : -1;
    };
    for (const Method method : {Method::get, Method::post, Method::other}) {
        EXPECT_EQ(found("/", method), 0);
        EXPECT_EQ(found("/a", method), 0);
        EXPECT_EQ(found("/a/{b}", method), 1);
        EXPECT_EQ(found("/a/{b}/", method), 1);
        EXPECT_EQ(found("/a/{b}/x/y", method), 1);
        EXPECT_EQ(found("/a/{bb}", method), 0);
    }
    EXPECT_EQ(found("/a/c/x", Method::get), 2);
    EXPECT_FALSE(router.add_below("/a/{b}", 3)) << "twice the same";
    EXPECT_EQ(found("*", Method::options), -1);
}

}  // namespace
}  // namespace tiderace::http::route

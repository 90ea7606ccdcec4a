#include "tiderace/http/app/signed/signed_urls.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tiderace/http/app/app_fixture.h"

namespace tiderace::http {
namespace {

const std::string former_key(32, 'o');
const std::string link_key(32, 'n');
constexpr UnixSeconds far = 10'413'792'000;  // in the year 2300

class SignedUrlsTest : public AppTest {
  protected:
    SignedUrlsTest() {
        app.use(signed_urls(links));
        app.get<"/{path...}">([](std::string path) { return path; });
        app.post<"/{path...}">([](std::string) { return "posted"; });
    }
    std::string status(std::string_view target, std::string_view method = "GET") {
        return status_of(ask(method, target));
    }

    const SignedUrls links{{link_key, former_key}};
};

TEST_F(SignedUrlsTest, ASignedLinkPasses) {
    for (const char* const target : {"/", "/a", "/a?b=c", "/a?", "/a?expires=1&signature=2",
                                     "/~ann/", "/a%20b?x=%2F", "/a b", "/caf\xC3\xA9"}) {
        EXPECT_EQ(status(links.sign(target, far)), "200") << target;
    }
    EXPECT_EQ(links.sign("/a?b=c", 7).substr(0, 27), "/a?b=c&expires=7&signature=");
}

TEST_F(SignedUrlsTest, NoByteCanBeChanged) {
    const std::string good = links.sign("/ab?c=d", far);
    for (std::size_t i = 1; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] = bad[i] == 'x' ? 'y' : 'x';
        EXPECT_EQ(status(bad), "403") << bad;
        EXPECT_EQ(status(good.substr(0, i)), "403") << i;
    }
    EXPECT_EQ(status(good + "&e=f"), "403");
    EXPECT_EQ(status(good + "0"), "403");
    EXPECT_EQ(status("/ab?" + good.substr(8)), "403");
    EXPECT_EQ(status("/ab?e=f&" + good.substr(4)), "403");
    EXPECT_EQ(status("/ab/?" + good.substr(4)), "403");
}

// The server sees one path in all of these.
TEST_F(SignedUrlsTest, TheSamePathInAnotherSpellingPasses) {
    const std::string good = links.sign("/~ann/b", far);
    const std::string query = good.substr(good.find('?'));
    EXPECT_EQ(status("/%7Eann/b" + query), "200");
    EXPECT_EQ(status("/%7eann/./c/../b" + query), "200");
    EXPECT_EQ(status("/~ann/%62" + query), "200");
    EXPECT_EQ(status("/~ann/%2562" + query), "403");
}

TEST_F(SignedUrlsTest, AMethodIsPartOfIt) {
    const std::string get = links.sign("/a", far);
    const std::string post = links.sign("/a", far, "POST");
    EXPECT_EQ(status(get, "HEAD"), "200");
    EXPECT_EQ(status(get, "POST"), "403");
    EXPECT_EQ(status(post, "POST"), "200");
    EXPECT_EQ(status(post), "403");
    EXPECT_EQ(status(get, "BREW"), "403");
}

TEST_F(SignedUrlsTest, ALinkExpires) {
    const UnixSeconds now = world.loop().unix_now();
    constexpr UnixSeconds least = std::numeric_limits<UnixSeconds>::min();
    constexpr UnixSeconds most = std::numeric_limits<UnixSeconds>::max();
    for (const UnixSeconds good : {now + 1, now + 3600, far, most}) {
        EXPECT_EQ(status(links.sign("/a", good)), "200") << good;
    }
    for (const UnixSeconds late : {now, now - 1, UnixSeconds{0}, UnixSeconds{-86'400}, least}) {
        const std::string answer = ask("GET", links.sign("/a", late));
        EXPECT_EQ(status_of(answer), "403") << late;
        EXPECT_NE(answer.find("the link has expired"), std::string::npos) << answer;
    }
    const std::string soon = links.sign("/a", now + 10);
    EXPECT_EQ(status(soon), "200");
    world.advance(10s);
    EXPECT_EQ(status(soon), "403");
}

TEST_F(SignedUrlsTest, KeysAreReplacedOneByOne) {
    EXPECT_EQ(status(SignedUrls({former_key}).sign("/a", far)), "200");
    EXPECT_EQ(status(SignedUrls({std::string(32, 'z')}).sign("/a", far)), "403");
    EXPECT_EQ(links.sign("/a", far), SignedUrls({link_key}).sign("/a", far));
}

TEST_F(SignedUrlsTest, OtherQueriesAreNotSigned) {
    const std::string digits(64, '0');
    for (const std::string& query : std::vector<std::string>{
             "", "?", "?a", "?expires=99999999999", "?signature=" + digits, "?&signature=" + digits,
             "?expires=&signature=" + digits, "?expires=1x&signature=" + digits,
             "?expires=99999999999999999999&signature=" + digits,
             "?expires=99999999999&signature=" + digits}) {
        const std::string answer = ask("GET", "/a" + query);
        EXPECT_EQ(status_of(answer), "403") << query;
        EXPECT_NE(answer.find("the link is not signed"), std::string::npos) << answer;
    }
}

TEST(SignedUrls, OnlyWhatAClientCanRequestIsSigned) {
    const SignedUrls links({link_key});
    for (const char* const target :
         {"", "a", "http://a/b", "/a#b", "/../a", "/a%2Fb", "/a\\b", "/a%00", "?a=b"}) {
        EXPECT_THROW(links.sign(target, far), std::invalid_argument) << target;
    }
}

}  // namespace
}  // namespace tiderace::http

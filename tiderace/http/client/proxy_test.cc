#include "tiderace/http/client/proxy.h"

#include <gtest/gtest.h>

#include <map>

namespace tiderace::http {
namespace {

Proxies with(const std::map<std::string, std::string>& variables) {
    return Proxies::from([&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    });
}
std::string place(const Proxies& proxies, const char* url) {
    const Proxy* proxy = proxies.find(*Url::parse(url));
    return proxy == nullptr ? "direct" : proxy->place;
}

TEST(Proxies, EachSchemeHasItsOwn) {
    const Proxies proxies = with({{"http_proxy", "http://p:1"}, {"HTTPS_PROXY", "q:2/"}});
    EXPECT_EQ(place(proxies, "http://a/"), "p:1");
    EXPECT_EQ(place(proxies, "https://a/"), "q:2");
    EXPECT_EQ(place(with({{"HTTP_PROXY", "p:1"}}), "http://a/"), "direct");
    EXPECT_EQ(place(with({{"ALL_PROXY", "p"}}), "https://a/"), "p:80");
    EXPECT_EQ(place(with({{"http_proxy", ""}}), "http://a/"), "direct");
    EXPECT_EQ(place(Proxies(), "http://a/"), "direct");
    EXPECT_EQ(place(with({{"http_proxy", "socks5://p:1"}}), "http://a/"), "");
    EXPECT_EQ(place(with({{"http_proxy", "p:99999"}}), "http://a/"), "");
}

TEST(Proxies, SomeHostsAreAskedDirectly) {
    const Proxies proxies =
        with({{"http_proxy", "p:1"},
              {"NO_PROXY", "Localhost, .b.example,c.example:8080,[::1] 10.0.0.1 ::2"}});
    const struct {
        const char* url;
        bool direct;
    } cases[] = {
        {"http://localhost/", true},   {"http://xlocalhost/", false},
        {"http://b.example/", true},   {"http://x.b.example:81/", true},
        {"http://xb.example/", false}, {"http://c.example:8080/", true},
        {"http://c.example/", false},  {"http://[::1]/", true},
        {"http://10.0.0.1/", true},    {"http://10.0.0.10/", false},
        {"http://[::2]/", true},       {"http://[::22]/", false},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(place(proxies, c.url), c.direct ? "direct" : "p:1") << c.url;
    }
    EXPECT_EQ(place(with({{"http_proxy", "p:1"}, {"no_proxy", "*"}}), "http://a/"), "direct");
}

TEST(Proxies, CredentialsAreEncoded) {
    const auto authorization = [](const char* proxy) {
        return with({{"http_proxy", proxy}}).find(*Url::parse("http://a/"))->authorization;
    };
    EXPECT_EQ(authorization("http://Aladdin:open%20sesame@p:1"),
              "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    EXPECT_EQ(authorization("http://ab:@p"), "Basic YWI6");
    EXPECT_EQ(authorization("http://ab:c@p"), "Basic YWI6Yw==");
    EXPECT_EQ(authorization("p"), "");
}

}  // namespace
}  // namespace tiderace::http

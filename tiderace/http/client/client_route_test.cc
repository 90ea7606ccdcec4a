#include "tiderace/http/client/client_route.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace tiderace::http {
namespace {

TEST(ClientRoute, EachSchemeHostPortAndProxyIsOneOfItsOwn) {
    const std::array<Proxy, 3> proxies{Proxy{.place = "p.example:3128", .authorization = ""},
                                       Proxy{.place = "p.example:3128", .authorization = "Basic x"},
                                       Proxy{.place = "", .authorization = ""}};
    std::set<ClientRoute, ClientRouteOrder> routes;
    std::size_t made = 0;
    for (const char* text : {"http://a.example/", "https://a.example/", "http://a.example:8080/x",
                             "https://a.example:80/", "http://b.example/"}) {
        const Url url = Url::parse(text).value();
        EXPECT_FALSE(routes.contains(ClientRouteView(url, nullptr))) << text;
        EXPECT_TRUE(routes.emplace(url, nullptr).second) << text;
        for (const Proxy& proxy : proxies) {
            EXPECT_FALSE(routes.contains(ClientRouteView(url, &proxy))) << text;
            EXPECT_TRUE(routes.emplace(url, &proxy).second) << text;
        }
        made += 1 + proxies.size();
    }
    EXPECT_EQ(routes.size(), made);
}

TEST(ClientRoute, AViewIsEqualToThatOfAnotherUrlWithTheSameRoute) {
    const Proxy one{.place = "p:1", .authorization = ""};
    const Proxy same = one;
    const Proxy other{.place = "p:1", .authorization = "Basic YTpi"};
    const Url url = *Url::parse("http://a/x");
    EXPECT_EQ(ClientRouteView(url, nullptr),
              ClientRouteView(*Url::parse("http://a:80/y"), nullptr));
    EXPECT_EQ(ClientRouteView(url, &one), ClientRouteView(url, &same));
    for (const Proxy* proxy : {static_cast<const Proxy*>(nullptr), &other}) {
        EXPECT_FALSE(ClientRouteView(url, &one) == ClientRouteView(url, proxy));
        EXPECT_FALSE(ClientRouteView(url, proxy) == ClientRouteView(url, &one));
    }
    for (const char* text : {"https://a:80/x", "http://b/x", "http://a:81/x"}) {
        const Url another = *Url::parse(text);
        EXPECT_FALSE(ClientRouteView(url, nullptr) == ClientRouteView(another, nullptr)) << text;
    }
}

TEST(ClientRoute, ThePathMakesNoDifference) {
    const Url one = Url::parse("http://A.example/one?x").value();
    const Url two = Url::parse("http://a.example:80/two").value();
    const Proxy proxy{.place = "p.example:3128", .authorization = "Basic x"};
    std::set<ClientRoute, ClientRouteOrder> routes;
    routes.emplace(one, &proxy);
    const Proxy same = proxy;
    EXPECT_TRUE(routes.contains(ClientRouteView(two, &same)));
    EXPECT_FALSE(routes.contains(ClientRouteView(two, nullptr)));
    EXPECT_EQ(ClientRoute(one, &proxy), ClientRoute(two, &same));
    EXPECT_NE(ClientRoute(one, &proxy), ClientRoute(two, nullptr));
}

}  // namespace
}  // namespace tiderace::http

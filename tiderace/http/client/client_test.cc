#include "tiderace/http/client/client.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tiderace/http/client/client_fixture.h"
#include "tiderace/net/listener.h"
#include "tiderace/task/sleep.h"
#include "tiderace/task/within.h"

namespace tiderace::http {
namespace {

// With -Wextra, members that a designated initializer leaves out are a warning in a user's program,
// unless they have an initializer of their own.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
[[maybe_unused]] const ClientOptions options_left_out = {.timeout = 1s, .tls = {.verify = false}};
#pragma GCC diagnostic pop

TEST_F(ClientTest, AsksAndReadsTheAnswer) {
    ClientTestServer server(world);
    server.say(ok("hello"));
    EXPECT_EQ(get(server.url + "/a b?c#d"), "200 hello");
    const std::string& request = server.requests.at(0);
    EXPECT_TRUE(request.starts_with("GET /a%20b?c HTTP/1.1\r\nHost: " + server.place + "\r\n"));
    EXPECT_NE(request.find("\r\nUser-Agent: tiderace\r\n"), std::string::npos);
    EXPECT_EQ(request.find("Content-Length"), std::string::npos);
    EXPECT_EQ(ask(ClientRequest("POST", server.url)
                      .content("body")
                      .header("User-Agent", "mine")
                      .header("Content-Length", "99")
                      .header("X-A", "1")
                      .header("X-A", "2")),
              "200 hello");
    const std::string& post = server.requests.at(1);
    EXPECT_NE(post.find("\r\nContent-Type: text/plain; charset=utf-8\r\n"), std::string::npos);
    EXPECT_NE(
        post.find("\r\nUser-Agent: mine\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 4\r\n\r\nbody"),
        std::string::npos)
        << post;
    EXPECT_EQ(server.opened(), 1);  // the connection was kept
}

TEST_F(ClientTest, PassesOnTheTraceThatARequestIsPartOf) {
    ClientTestServer server(world);
    server.say(ok("hello"));
    log::TraceContext trace("0123456789abcdef0123456789abcdef");
    ASSERT_TRUE(trace.continue_trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    EXPECT_EQ(ask(ClientRequest("GET", server.url).trace(trace)), "200 hello");
    ASSERT_TRUE(trace.add_state("a=1"));
    EXPECT_EQ(ask(ClientRequest("GET", server.url).trace(log::TraceContext()).trace(trace)),
              "200 hello");
    const std::string parent =
        "\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-0123456789abcdef-01\r\n";
    EXPECT_NE(server.requests.at(0).find(parent), std::string::npos) << server.requests.at(0);
    EXPECT_EQ(server.requests.at(0).find("tracestate"), std::string::npos);
    EXPECT_NE(server.requests.at(1).find(parent + "tracestate: a=1\r\n"), std::string::npos);
}

// On the connection that brought the answer.
TEST_F(ClientTest, ATaskThatHasItsAnswerMayAskAgainOrEndItsClient) {
    ClientTestServer server(world);
    server.say(ok("hello"));
    the_client();
    std::string heard;
    run([](std::optional<Client>& held, std::string url, std::string& text) -> task::Task<> {
        for (int i = 0; i < 3; ++i) {
            const auto answer = co_await held->get(url);
            text += answer ? answer->body : "fault";
        }
        held.reset();
    }(client, server.url, heard));
    world.settle();
    EXPECT_EQ(heard, "hellohellohello");
    EXPECT_EQ(server.opened(), 1);
    EXPECT_EQ(server.connections(), 0U) << "the client has closed it";
}

TEST_F(ClientTest, ARequestIsBuiltInOneGoOrInSteps) {
    ClientTestServer server(world);
    server.say(ok(""));
    ClientRequest request("PUT", server.url);
    request.header("X-A", "1").content("one");
    request = std::move(request).header("X-B", "2").json(std::vector<int>{7});
    EXPECT_EQ(request.url(), server.url);
    ask(std::move(request));
    EXPECT_NE(server.requests.at(0).find("\r\nContent-Type: application/json\r\nX-A: 1\r\n"
                                         "X-B: 2\r\nContent-Length: 3\r\n\r\n[7]"),
              std::string::npos)
        << server.requests.at(0);
}

TEST_F(ClientTest, WhatCannotBeSentIsNotSent) {
    EXPECT_EQ(get("ftp://a/"), "! bad_request: \"ftp://a/\" is no http(s) URL");
    EXPECT_EQ(get(""), "! bad_request: \"\" is no http(s) URL");
    EXPECT_EQ(ask(ClientRequest("GET", "http://a/").header("A", "1\r\nB: 2")),
              "! bad_request: http://a/: no message may hold its fields");
    EXPECT_TRUE(ask(ClientRequest("GET /x", "http://a/")).starts_with("! bad_request"));
    EXPECT_TRUE(ask(ClientRequest("CONNECT", "http://a/")).starts_with("! bad_request"));
    EXPECT_TRUE(ask(ClientRequest("POST", "http://a/").content(Content("a\r\nB: c", "d")))
                    .starts_with("! bad_request"));
    EXPECT_EQ(get("https://127.0.0.1:1/"), "! tls: https://127.0.0.1:1: no TLS here");
    EXPECT_EQ(get("http://127.0.0.1:1/"),
              "! connect: connect to 127.0.0.1:1: connection refused; nothing listens there");
}

TEST_F(ClientTest, AUnixSocketTakesTheWayAndTheUrlGivesTheHost) {
    ClientTestServer server(world);
    server.say(ok("hello"));
    const auto at = core::Address::parse("unix:@tiderace-client-test").value();
    server.listen(net::open_listener(world.kernel(), at, {}).value());
    make({.connect_to = at.to_string()}).set_proxies(Proxies::from([](const char*) {
        return "http://proxy.example:1";
    }));
    EXPECT_EQ(get("http://docker/v1/info"), "200 hello");
    EXPECT_EQ(get("http://other.example:81/"), "200 hello");
    EXPECT_TRUE(server.requests.at(0).starts_with("GET /v1/info HTTP/1.1\r\nHost: docker\r\n"));
    EXPECT_TRUE(server.requests.at(1).starts_with("GET / HTTP/1.1\r\nHost: other.example:81\r\n"));
    EXPECT_EQ(server.opened(), 2) << "another origin, another connection";

    make({.connect_to = "unix:@tiderace-nobody"});
    EXPECT_EQ(get("http://docker/"),
              "! connect: connect to unix:@tiderace-nobody: connection refused; nothing listens "
              "there");
    make({.connect_to = "no place"});
    EXPECT_TRUE(get("http://docker/").starts_with("! connect: address \"no place\""));
}

TEST_F(ClientTest, TimeOutsAreDeadlines) {
    ClientTestServer server(world);
    server.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na");  // and nothing more
    make({.timeout = 5s});
    EXPECT_EQ(get(server.url), "! timed_out: " + server.url + ": no whole answer in time");
    EXPECT_GE(world.elapsed(), 5s);
    world.settle();
    EXPECT_EQ(server.connections(), 0U);
    EXPECT_EQ(ask(ClientRequest("GET", server.url).timeout(1s)),
              "! timed_out: " + server.url + ": no whole answer in time");
    const Duration before = world.elapsed();
    bool late = false;
    run([](Client& client, std::string url, bool& late) -> task::Task<> {
        auto answer = co_await task::within(2s, client.get(url));
        late = !answer.has_value();
    }(*client, server.url, late));
    EXPECT_TRUE(late);
    EXPECT_LT(world.elapsed() - before, 3s);
    world.settle();
    EXPECT_EQ(client->pool()->connections(), 0U);
}

TEST_F(ClientTest, AClosedConnectionIsTriedAgainWhereThatIsSafe) {
    ClientTestServer server(world);
    const auto answer_and_close_the_next = [&] {
        server.requests.clear();
        server.answer = [&](net::Connection& connection, const std::string&) {
            if (server.requests.size() == 2) return connection.close(net::CloseReason::aborted);
            connection.write(ok(std::to_string(server.requests.size())));
        };
        if (client) client->pool()->close_idle();
        EXPECT_EQ(get(server.url), "200 1");
    };
    answer_and_close_the_next();
    EXPECT_EQ(get(server.url), "200 3");
    answer_and_close_the_next();
    EXPECT_EQ(ask(ClientRequest("PUT", server.url).content("x")), "200 3");
    answer_and_close_the_next();
    EXPECT_TRUE(ask(ClientRequest("POST", server.url).content("x")).starts_with("! closed: "));
    EXPECT_EQ(server.requests.size(), 2U);
    // On a new connection there is nothing to be tried again.
    server.requests.clear();
    client->pool()->close_idle();
    server.answer = [](net::Connection& connection, const std::string&) {
        connection.close(net::CloseReason::aborted);
    };
    EXPECT_TRUE(get(server.url).starts_with("! closed: "));
    EXPECT_EQ(server.requests.size(), 1U);
}

TEST_F(ClientTest, RedirectsAreFollowedByTheRules) {
    ClientTestServer server(world);
    const auto led = [&](const char* status, ClientRequest request) {
        server.requests.clear();
        server.say_each({std::string("HTTP/1.1 ") + status +
                             " X\r\nLocation: next?x\r\nContent-Length: 0\r\n\r\n",
                         ok("there")});
        const std::string told = ask(std::move(request));
        if (server.requests.size() < 2) return told;
        const std::string& second = server.requests[1];
        const bool has_body = second.ends_with("\r\n\r\nbody");
        return second.substr(0, second.find(" HTTP")) + (has_body ? " body" : "");
    };
    const auto post = [&] { return ClientRequest("POST", server.url + "/a/b").content("body"); };
    const auto put = [&] { return ClientRequest("PUT", server.url + "/a/b").content("body"); };
    EXPECT_EQ(led("301", ClientRequest("GET", server.url + "/a/b")), "GET /a/next?x");
    EXPECT_EQ(led("302", ClientRequest("HEAD", server.url + "/a/b")), "HEAD /a/next?x");
    EXPECT_EQ(led("303", ClientRequest("HEAD", server.url + "/a/b")), "HEAD /a/next?x");
    EXPECT_EQ(led("301", post()), "GET /a/next?x");
    EXPECT_EQ(led("302", post()), "GET /a/next?x");
    EXPECT_EQ(led("303", post()), "GET /a/next?x");
    EXPECT_EQ(led("303", put()), "GET /a/next?x");
    EXPECT_EQ(led("301", put()), "PUT /a/next?x body");
    EXPECT_EQ(led("307", post()), "POST /a/next?x body");
    EXPECT_EQ(led("308", post()), "POST /a/next?x body");
    EXPECT_EQ(led("300", post()), "300 ");
    EXPECT_EQ(led("304", ClientRequest("GET", server.url)), "304 ");
    server.say("HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(get(server.url), "302 ");
    server.say("HTTP/1.1 302 X\r\nLocation: javascript:1\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(get(server.url).starts_with("! bad_redirect"));
    // The second may be an attacker's: another reader takes the other one.
    server.requests.clear();
    server.say("HTTP/1.1 302 X\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(get(server.url), "! bad_redirect: " + server.url + "/: leads to several URLs");
    EXPECT_EQ(server.requests.size(), 1U);
    server.requests.clear();
    server.say("HTTP/1.1 302 X\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(get(server.url).starts_with("! too_many_redirects"));
    EXPECT_EQ(server.requests.size(), 11U);
    make({.redirects_max = 0});
    EXPECT_EQ(get(server.url), "302 ");
}

// Headers that describe a body are not sent on without it (RFC 9110, 15.4).
TEST_F(ClientTest, ARedirectThatLeavesTheBodyLeavesItsFields) {
    ClientTestServer server(world);
    const auto led = [&](const char* status) {
        server.requests.clear();
        server.say_each({std::string("HTTP/1.1 ") + status +
                             " X\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n",
                         ok("there")});
        ask(ClientRequest("POST", server.url)
                .content("body")
                .header("content-type", "text/x-own")
                .header("Content-Encoding", "x-own")
                .header("X-Own", "kept"));
        EXPECT_NE(server.requests.at(1).find("X-Own: kept"), std::string::npos);
        return server.requests.at(1).find("x-own") != std::string::npos;
    };
    EXPECT_FALSE(led("303"));
    EXPECT_TRUE(led("307"));
}

TEST_F(ClientTest, CredentialsStayWithTheirOrigin) {
    ClientTestServer first(world);
    ClientTestServer second(world);
    second.say(ok("there"));
    const auto seen = [&](const std::string& location) {
        first.requests.clear();
        second.requests.clear();
        first.say_each({"HTTP/1.1 307 X\r\nLocation: " + location + "\r\nContent-Length: 0\r\n\r\n",
                        ok("here")});
        ask(ClientRequest("GET", first.url)
                .header("Authorization", "secret")
                .header("cookie", "secret")
                .header("Proxy-Authorization", "secret")
                .header("X-Api-Key", "key")
                .header("X-Own", "kept"));
        const std::string request =
            second.requests.empty() ? first.requests.at(1) : second.requests.at(0);
        EXPECT_NE(request.find("X-Own: kept"), std::string::npos);
        EXPECT_NE(request.find("X-Api-Key: key"), std::string::npos) << "as its header says";
        return request.find("secret") != std::string::npos;
    };
    EXPECT_TRUE(seen("/other"));
    EXPECT_FALSE(seen(second.url + "/"));
    EXPECT_EQ(second.requests.size(), 1U);
}

TEST_F(ClientTest, AFaultIsOneLineWhateverTheUrlHolds) {
    EXPECT_EQ(get("http://a/\r\nforged: line"),
              "! bad_request: \"http://a/\\r\\nforged: line\" is no http(s) URL");
}

TEST_F(ClientTest, CookiesAreKeptWhereTheyAreWanted) {
    ClientTestServer server(world);
    const std::string moved =
        "HTTP/1.1 303 X\r\nLocation: /in\r\nSet-Cookie: s=1\r\nContent-Length: 0\r\n\r\n";
    server.say_each({moved, ok(""), ok("")});
    make({.cookies = true});
    get(server.url);
    EXPECT_NE(server.requests.at(1).find("\r\nCookie: s=1\r\n"), std::string::npos);
    EXPECT_EQ(client->cookies().find("s"), "1");
    server.requests.clear();
    make();
    get(server.url);
    EXPECT_EQ(server.requests.at(1).find("Cookie"), std::string::npos);
}

TEST_F(ClientTest, AProxyGetsTheWholeUrl) {
    ClientTestServer proxy(world);
    proxy.say(ok("by proxy"));
    make().set_proxies(Proxies::from([&](const char* name) -> const char* {
        static std::string url;
        url = "http://me:pw@" + proxy.place;
        return std::string_view(name) == "http_proxy" ? url.c_str() : nullptr;
    }));
    EXPECT_EQ(get("http://a.example/x?y"), "200 by proxy");
    EXPECT_TRUE(proxy.requests.at(0).starts_with(
        "GET http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\n"));
    EXPECT_NE(proxy.requests.at(0).find("Proxy-Authorization: Basic bWU6cHc=\r\n"),
              std::string::npos);
}

// A connection to the one before would take the next request, and give it to that.
TEST_F(ClientTest, ProxiesThatAreSetAnewTakeTheNextRequest) {
    ClientTestServer proxy(world);
    ClientTestServer other(world);
    ClientTestServer server(world);
    proxy.say(ok("by proxy"));
    other.say(ok("by the other"));
    server.say(ok("directly"));
    const auto by = [](const std::string& url) {
        return Proxies::from([&](const char* name) -> const char* {
            return std::string_view(name) == "http_proxy" ? url.c_str() : nullptr;
        });
    };
    make().set_proxies(by(proxy.url));
    EXPECT_EQ(get(server.url), "200 by proxy");
    client->set_proxies({});
    EXPECT_EQ(get(server.url), "200 directly");
    client->set_proxies(by(other.url));
    EXPECT_EQ(get(server.url), "200 by the other");
    // While a request is on its way by the one before, which ends there and is tried again.
    int asked = 0;
    other.answer = [&](net::Connection& connection, const std::string&) {
        if (++asked > 1) return connection.write(ok("again")), void();
        client->set_proxies(by(proxy.url));
        connection.close(net::CloseReason::aborted);
    };
    EXPECT_EQ(get(server.url), "200 again");
    EXPECT_TRUE(other.requests.back().starts_with("GET " + server.url + "/ HTTP/1.1\r\n"));
    EXPECT_EQ(get(server.url), "200 by proxy");
}

TEST_F(ClientTest, ARedirectKeepsTheProxiesThatItsRequestBeganWith) {
    ClientTestServer proxy(world);
    ClientTestServer first(world);
    ClientTestServer second(world);
    proxy.say(ok("by proxy"));
    second.say(ok("directly"));
    first.answer = [&](net::Connection& connection, const std::string&) {
        client->set_proxies(Proxies::from([&](const char* name) -> const char* {
            return std::string_view(name) == "http_proxy" ? proxy.url.c_str() : nullptr;
        }));
        connection.write("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + second.url +
                         "/\r\n\r\n");
    };
    make();
    EXPECT_EQ(get(first.url), "200 directly");
    EXPECT_EQ(get(second.url), "200 by proxy");
}

TEST_F(ClientTest, OfTheBodyNoMoreIsKeptThanAllowed) {
    ClientTestServer server(world);
    make({.body_bytes_max = 1'000});
    server.say(ok(std::string(1'000, 'x')));
    EXPECT_EQ(get(server.url), "200 " + std::string(1'000, 'x'));
    server.say(ok(std::string(1'001, 'x')));
    EXPECT_EQ(get(server.url), "! too_large: " + server.url + "/: the body is too large");
    world.settle();
    EXPECT_EQ(server.connections(), client->pool()->connections());
}

TEST_F(ClientTest, TheBodiesOfAllAnswersHaveOneBound) {
    ClientTestServer server(world);
    make({.timeout = 1h, .memory_bytes_max = 1'500});
    net::Connection* first = nullptr;
    server.answer = [&](net::Connection& connection, const std::string&) {
        first = &connection;
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" +
                         std::string(1'000, 'x'));
    };
    const auto told = begin(ClientRequest("GET", server.url));
    world.settle();
    EXPECT_EQ(client->memory().taken(), 1'000U);
    server.say(ok(std::string(500, 'y')));
    EXPECT_EQ(get(server.url), "200 " + std::string(500, 'y'));
    server.say(ok(std::string(501, 'z')));
    EXPECT_EQ(get(server.url), "! busy: " + server.url +
                                   "/: the answers of this client take too much memory "
                                   "(memory_bytes_max)");
    first->write("x");
    world.settle();
    EXPECT_EQ(*told, "200 " + std::string(1'001, 'x'));
    EXPECT_EQ(get(server.url), "200 " + std::string(501, 'z'));
    EXPECT_EQ(client->memory().taken(), 0U) << "the answers are their readers' now";
    EXPECT_EQ(client->memory().taken_most(), 1'500U);
    EXPECT_EQ(client->memory().refused(), 1U);
}

}  // namespace
}  // namespace tiderace::http

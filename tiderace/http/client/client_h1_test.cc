#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/client/client_fixture.h"

namespace tiderace::http {
namespace {

class ClientH1Test : public ClientTest {};

// Apart from the fields of the head, and never mixed with another answer's.
TEST_F(ClientH1Test, TrailersAreKeptApart) {
    ClientTestServer server(world);
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: 1\r\n\r\n";
    server.say_each({chunked + "4\r\nbody\r\n0\r\nChecksum: 7\r\nA: 2\r\n\r\n",
                     chunked + "0\r\n\r\n", ok("plain"),
                     chunked + "0\r\nA: " + std::string(9'000, 'a') + "\r\n\r\n"});
    the_client();
    run([](Client& client, std::string url) -> task::Task<> {
        const auto first = co_await client.get(url);
        EXPECT_TRUE(first) << first.error().message;
        if (!first) co_return;
        EXPECT_EQ(first->body, "body");
        EXPECT_EQ(first->header("a"), "1");
        EXPECT_EQ(first->header("checksum"), "");
        EXPECT_EQ(first->trailers.find("checksum"), "7");
        EXPECT_EQ(first->trailers.find("a"), "2");
        for (int i = 0; i < 2; ++i) {
            const auto other = co_await client.get(url);
            EXPECT_TRUE(other && other->trailers.empty());
        }
        const auto too_long = co_await client.get(url);
        EXPECT_FALSE(too_long);
    }(*client, server.url));
    EXPECT_EQ(server.opened(), 1);
}

// Each ends the request with a fault that names what is wrong, and the connection.
TEST_F(ClientH1Test, HostileAnswersAreFaults) {
    const std::string endless = "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x');
    std::string interim;
    for (int i = 0; i < 20; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
    const struct {
        std::string bytes;
        bool closes;
        const char* fault;
    } cases[] = {
        {"hello\r\n\r\n", false, "bad_answer: .*no HTTP/1 answer"},
        {"HTTP/1.1 20x OK\r\n\r\n", false, "bad_answer: .*bad status line"},
        {endless, false, "bad_answer: .*head is too large"},
        {interim, false, "bad_answer: .*too many 1xx"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", false,
         "bad_answer: .*Content-Length"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         false, "bad_answer: .*Content-Length"},
        {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", false, "bad_answer: .*Content-Length"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", false,
         "bad_answer: .*coding"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", false,
         "bad_answer: .*bad chunk"},
        {"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", false, "bad_answer: .*bad field"},
        {"HTTP/1.1 200 OK\nA: b\n\n", false, "bad_answer: .*bad status line"},
        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", false,
         "bad_answer: .*protocol not asked for"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", true,
         "closed: .*ended inside the answer"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true,
         "closed: .*ended inside the answer"},
        {"HTTP/1.1 200 OK\r\nContent-", true, "closed: .*ended inside the answer"},
        {"", true, "closed: .*ended before an answer"},
    };
    ClientTestServer server(world);
    for (const auto& c : cases) {
        server.answer = [&](net::Connection& connection, const std::string&) {
            connection.write(c.bytes);
            if (c.closes) connection.finish();
        };
        const std::string told = get(server.url);
        EXPECT_THAT(told, ::testing::ContainsRegex("^! " + std::string(c.fault))) << c.bytes;
        world.settle();
        EXPECT_EQ(the_client().pool()->connections(), 0U) << c.bytes;
    }
    server.answer = [](net::Connection& connection, const std::string&) {
        connection.close(net::CloseReason::send_memory_full);  // which resets
    };
    EXPECT_TRUE(get(server.url).starts_with("! closed: "));
    server.say(ok("well"));
    EXPECT_EQ(get(server.url), "200 well");
}

TEST_F(ClientH1Test, BytesBehindAnAnswerAreNoAnswer) {
    ClientTestServer server(world);
    // The second answer comes with the first: it is not given to the next request.
    server.say(ok("one") + ok("smuggled"));
    EXPECT_EQ(get(server.url), "200 one");
    server.say(ok("two"));
    EXPECT_EQ(get(server.url), "200 two");
    EXPECT_EQ(server.opened(), 2);
    // So it is where it comes later, on an idle connection.
    server.sessions.connection->write(ok("smuggled"));
    world.settle();
    EXPECT_EQ(the_client().pool()->connections(), 0U);
    server.say(ok("three"));
    EXPECT_EQ(get(server.url), "200 three");
}

// RFC 9112, 9.3 and 9.5: the server sent it on a kept connection, before any byte of the request.
TEST_F(ClientH1Test, WhatCameBeforeTheRequestLeftIsNotItsAnswer) {
    const std::string late = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
    for (const std::string& unasked :
         {late, ok("smuggled"), std::string("HTTP/1.1 2"), late + "x", std::string()}) {
        for (const char* method : {"GET", "POST"}) {
            ClientTestServer server(world);
            server.say(ok("well"));
            make();
            EXPECT_EQ(get(server.url), "200 well");
            net::Connection& kept = *server.sessions.connection;
            kept.write(unasked);
            kept.finish();
            kept.flush();
            // Begins before the loop looks at the network again.
            const auto told = begin(ClientRequest(method, server.url).content("x"));
            world.settle();
            EXPECT_EQ(*told, "200 well") << method << " " << unasked;
            EXPECT_EQ(server.requests.size(), 2U);
            EXPECT_EQ(server.opened(), 2);
            client.reset();
            world.settle();
        }
    }
}

// All kept connections of a server may be in that state: none of them is tried next.
TEST_F(ClientH1Test, ARetryAfterAnUnaskedAnswerTakesANewConnection) {
    ClientTestServer server(world);
    std::vector<net::Connection*> kept;
    server.answer = [&](net::Connection& connection, const std::string&) {
        kept.push_back(&connection);
    };
    make();
    const std::vector both{begin(ClientRequest("GET", server.url)),
                           begin(ClientRequest("GET", server.url))};
    world.settle();
    ASSERT_EQ(kept.size(), 2U);
    for (net::Connection* each : kept) each->write(ok("well"));
    world.settle();
    server.say(ok("well"));
    for (net::Connection* each : kept) {
        each->write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
        each->flush();
    }
    EXPECT_EQ(ask(ClientRequest("POST", server.url)), "200 well");
    world.settle();
    EXPECT_EQ(server.opened(), 3);
    EXPECT_EQ(the_client().pool()->connections(), 1U);
}

// RFC 9110, 15.5.9: the server waited in vain for a whole request. On a kept connection it was the
// time between two requests that was too long, and the answer crossed the request.
TEST_F(ClientH1Test, ARequestTimeoutOnAKeptConnectionIsTriedAgainOnce) {
    const std::string open = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";
    const std::string closes =
        "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n";
    const std::string old = "HTTP/1.0 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";
    const auto stream = [] {
        return [](std::string piece) -> task::Generator<std::string> {
            co_yield std::move(piece);
        }("x");
    };
    const struct {
        const char* method;
        std::string late;
        bool generated;
        const char* told;
    } cases[] = {
        {"GET", open, false, "200 well"},
        {"GET", closes, false, "200 well"},
        {"PUT", open, false, "200 well"},
        // For a POST, the server has to show that it gives the connection up: the status may be an
        // application's.
        {"POST", open, false, "408 "},
        {"POST", closes, false, "200 well"},
        {"POST", old, false, "200 well"},
        {"POST", closes, true, "408 "},  // its generator is used up
    };
    for (const auto& c : cases) {
        ClientTestServer server(world);
        server.say_each({ok("first"), c.late, ok("well")});
        make();
        EXPECT_EQ(get(server.url), "200 first");
        ClientRequest request(c.method, server.url);
        if (c.generated) {
            request.stream("text/plain", stream());
        } else {
            request.content("x");
        }
        EXPECT_EQ(ask(std::move(request)), c.told) << c.method << " " << c.late;
        client.reset();
        world.settle();
    }
    ClientTestServer server(world);
    server.say(closes);
    EXPECT_EQ(get(server.url), "408 ") << "the connection was new";
    EXPECT_EQ(server.requests.size(), 1U);
    // A second one is an answer.
    server.requests.clear();
    server.say_each({ok("first"), open, open, ok("never")});
    EXPECT_EQ(get(server.url), "200 first");
    EXPECT_EQ(get(server.url), "408 ");
    EXPECT_EQ(server.requests.size(), 3U);
}

TEST_F(ClientH1Test, AnswersWithoutLengthEndWithTheConnection) {
    ClientTestServer server(world);
    server.answer = [](net::Connection& connection, const std::string&) {
        connection.write("HTTP/1.0 200 OK\r\n\r\nall of it");
        connection.finish();
    };
    EXPECT_EQ(get(server.url), "200 all of it");
    server.say("HTTP/1.1 204 No Content\r\n\r\n");
    EXPECT_EQ(get(server.url), "204 ");
    server.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
    EXPECT_EQ(ask(ClientRequest("HEAD", server.url)), "200 ");
    server.say(
        "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n"
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    EXPECT_EQ(get(server.url), "200 abc");
    world.settle();
    EXPECT_EQ(the_client().pool()->connections(), 0U);
}

}  // namespace
}  // namespace tiderace::http

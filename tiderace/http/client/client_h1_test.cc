#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/client/client_fixture.h"

namespace tiderace::http {
namespace {

class ClientH1Test : public ClientTest {};

// Apart from the fields of the head, and never those of another answer.
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
        EXPECT_EQ(first->field("a"), "1");
        EXPECT_EQ(first->field("checksum"), "");
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

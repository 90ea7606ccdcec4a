#include "tiderace/http/client/client_response_stream.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tiderace/http/client/client_fixture.h"
#include "tiderace/http/coding/content_encoder.h"
#include "tiderace/task/scope.h"
#include "tiderace/task/sleep.h"

namespace tiderace::http {
namespace {

using coding::ContentEncoder;
using wire::ContentCoding;

std::string encode(ContentCoding coding, ByteView text) {
    const auto encoder = coding::make_encoder(coding, coding::Purpose::answer);
    encoder->reset(text.size());
    std::string out(text.size() + 1'000, '\0');
    std::size_t made = 0;
    for (bool done = false; !done;) {
        const auto step =
            encoder->step(text, std::span(out).subspan(made), ContentEncoder::Until::finished);
        text.remove_prefix(step.used);
        made += step.made;
        done = step.done;
    }
    return out.substr(0, made);
}

class ClientResponseStreamTest : public ClientTest {
  protected:
    // The status, then each piece with a '|' behind it, then the fault if there is one, and ".".
    static task::Task<> read_all(Client& client, ClientRequest request, std::string& told) {
        auto stream = co_await client.open(std::move(request));
        if (!stream) {
            told += "! " + stream.error().message;
            co_return;
        }
        told += std::to_string(stream->status()) + " ";
        while (true) {
            auto piece = co_await stream->read();
            if (!piece) told += "! " + piece.error().message;
            if (!piece || piece->empty()) break;
            told += *piece + "|";
        }
        told += ".";
    }
    static task::Generator<std::string> lines(int count, Duration pause) {
        for (int i = 0; i < count; ++i) {
            co_yield std::to_string(i) + ",";
            co_await task::sleep(pause);
        }
    }
    static task::Generator<std::string> broken() {
        co_yield "some";
        throw std::runtime_error("no more");
    }
};

TEST_F(ClientResponseStreamTest, PiecesComeAsTheyAreSent) {
    ClientTestServer server(world);
    server.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    std::string told;
    runner.spawn(read_all(the_client(), ClientRequest("GET", server.url), told));
    world.settle();
    EXPECT_EQ(told, "200 one|");
    server.sessions.connection->write("3\r\ntwo\r\n");
    world.settle();
    EXPECT_EQ(told, "200 one|two|");
    server.sessions.connection->write("0\r\n\r\n");
    world.settle();
    EXPECT_EQ(told, "200 one|two|.");
    EXPECT_EQ(client->pool()->idle(), 1U);
}

TEST_F(ClientResponseStreamTest, ABodyThatStopsIsAFault) {
    ClientTestServer server(world);
    server.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome");
    make({.timeout = 5s, .read_timeout = 20s});
    std::string told;
    run(read_all(*client, ClientRequest("GET", server.url), told));
    EXPECT_EQ(told, "200 some|! " + server.url + "/: the body stopped.");
    EXPECT_GE(world.elapsed(), 20s);
}

// Bytes of a coding may come for long without a byte of the content.
TEST_F(ClientResponseStreamTest, AReadThatGivesNothingInTimeIsAFaultHoweverManyBytesCome) {
    if (!coding::built_in_decodings().gzip) GTEST_SKIP() << "built without gzip";
    const std::string bytes = encode(ContentCoding::gzip, "content");
    ClientTestServer server(world);
    server.say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
               std::to_string(bytes.size()) + "\r\n\r\n");
    make({.timeout = 5s, .read_timeout = 20s});
    std::string told;
    runner.spawn(read_all(*client, ClientRequest("GET", server.url), told));
    world.settle();
    for (std::size_t i = 0; i < 3 && told == "200 "; ++i) {
        server.sessions.connection->write(ByteView(bytes).substr(i, 1));
        world.advance(8s);
    }
    EXPECT_EQ(told, "200 ! " + server.url + "/: the body stopped.");
    EXPECT_LE(world.elapsed(), 25s);
}

TEST_F(ClientResponseStreamTest, AReaderThatWaitsPushesBackOnTheServer) {
    ClientTestServer server(world);
    std::uint64_t sent = 0;
    server.answer = [&](net::Connection& connection, const std::string&) {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n");
        while (connection.write(std::string(10'000, 'x')) == net::Backlog::low) sent += 10'000;
        sent += 10'000;
    };
    server.sessions.on_drained = [&](net::Connection& connection) {
        while (sent < 20'000'000) {
            sent += 10'000;
            if (connection.write(std::string(10'000, 'x')) == net::Backlog::high) break;
        }
    };
    std::uint64_t read = 0;
    run([](Client& client, std::string url, std::uint64_t& sent,
           std::uint64_t& read) -> task::Task<> {
        auto stream = co_await client.open(ClientRequest("GET", url));
        co_await task::sleep(1s);
        const std::uint64_t before = sent;
        EXPECT_LT(before, 5'000'000U);
        co_await task::sleep(1s);
        EXPECT_EQ(sent, before);
        while (true) {
            auto piece = co_await stream->read();
            EXPECT_TRUE(piece) << piece.error().message;
            if (!piece || piece->empty()) break;
            read += piece->size();
        }
    }(the_client(), server.url, sent, read));
    EXPECT_EQ(read, 20'000'000U);
    EXPECT_EQ(client->pool()->idle(), 1U);
}

// The server chooses the window, and a client has many answers at once.
TEST_F(ClientResponseStreamTest, DecodersHaveOneBound) {
    std::string text;
    for (int i = 0; text.size() < 1'000'000; ++i) text += std::to_string(i * 7919) + ",";
    const auto built_in = coding::built_in_decodings();
    for (const auto& [available, coding] : {std::pair{built_in.gzip, ContentCoding::gzip},
                                            std::pair{built_in.zstd, ContentCoding::zstd},
                                            std::pair{built_in.br, ContentCoding::br}}) {
        if (!available) continue;
        const std::string encoded = encode(coding, text);
        ClientTestServer server(world);
        server.answer = [&](net::Connection& connection, const std::string&) {
            connection.write(
                "HTTP/1.1 200 OK\r\nContent-Encoding: " + std::string(coding_name(coding)) +
                "\r\nContent-Length: " + std::to_string(encoded.size()) + "\r\n\r\n" +
                encoded.substr(0, encoded.size() / 2));  // and no more
        };
        // Reads until the answer stops; "" then, or the fault.
        const auto read = [&](std::optional<ClientResponseStream>& stream) {
            std::string told;
            run([](Client& client, std::string url, std::optional<ClientResponseStream>& stream,
                   std::string& told) -> task::Task<> {
                auto opened = co_await client.open(ClientRequest("GET", url));
                EXPECT_TRUE(opened) << opened.error().message;
                if (!opened) co_return;
                stream.emplace(std::move(*opened));
                while (true) {
                    auto piece = co_await stream->read();
                    if (piece) continue;
                    if (piece.error().kind != ClientFault::Kind::timed_out) {
                        told = piece.error().message;
                    }
                    break;
                }
            }(*client, server.url, stream, told));
            return told;
        };
        make({.read_timeout = 1s});
        std::vector<std::optional<ClientResponseStream>> all(4);
        EXPECT_EQ(read(all[0]), "");
        const std::size_t one = client->memory().taken();
        EXPECT_GE(one, 32 * 1024U) << coding_name(coding);
        all[0].reset();
        EXPECT_EQ(client->memory().taken(), 0U);
        make({.read_timeout = 1s, .memory_bytes_max = 2 * one + one / 2});
        EXPECT_EQ(read(all[0]), "");
        EXPECT_EQ(read(all[1]), "");
        EXPECT_EQ(read(all[2]), server.url +
                                    "/: the answers of this client take too much memory "
                                    "(memory_bytes_max)");
        EXPECT_EQ(client->memory().refused(), 1U);
        all[0].reset();
        all[2].reset();
        EXPECT_EQ(read(all[3]), "");
        EXPECT_LE(client->memory().taken_most(), client->memory().bytes_max());
        all.clear();
        EXPECT_EQ(client->memory().taken(), 0U);
    }
}

TEST_F(ClientResponseStreamTest, OneThatEndsEarlyClosesItsConnection) {
    ClientTestServer server(world);
    server.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome");
    run([](Client& client, std::string url) -> task::Task<> {
        auto stream = co_await client.open(ClientRequest("GET", url));
        EXPECT_EQ(stream->header("content-length"), "9");
    }(the_client(), server.url));
    world.settle();
    EXPECT_EQ(server.connections(), 0U);
    EXPECT_EQ(client->pool()->connections(), 0U);
}

TEST_F(ClientResponseStreamTest, BodiesAreMadeWhileTheyAreSent) {
    ClientTestServer server(world);
    std::string received;
    server.answer = [&](net::Connection& connection, const std::string& request) {
        if (request.ends_with("0\r\n\r\n")) connection.write(ok("thanks"));
    };
    server.sessions.on_data = [&](net::Connection& connection, ByteView data) {
        received += data;
        if (received.ends_with("\r\n0\r\n\r\n")) connection.write(ok("thanks"));
        return data.size();
    };
    EXPECT_EQ(ask(ClientRequest("POST", server.url).stream("text/plain", lines(3, 1s))),
              "200 thanks");
    EXPECT_TRUE(
        received.ends_with("Transfer-Encoding: chunked\r\n\r\n2\r\n0,\r\n2\r\n1,\r\n2\r\n2,"
                           "\r\n0\r\n\r\n"))
        << received;
    EXPECT_GE(world.elapsed(), 2s);
    EXPECT_EQ(client->pool()->idle(), 1U);
}

TEST_F(ClientResponseStreamTest, APromisedLengthIsKept) {
    ClientTestServer server(world);
    std::string received;
    server.sessions.on_data = [&](net::Connection& connection, ByteView data) {
        received += data;
        if (received.ends_with("0,1,2,")) connection.write(ok("thanks"));
        return data.size();
    };
    EXPECT_EQ(ask(ClientRequest("PUT", server.url).stream("a/b", lines(3, 0s), 6)), "200 thanks");
    EXPECT_NE(received.find("\r\nContent-Length: 6\r\n\r\n0,1,2,"), std::string::npos);
    received.clear();  // a method that mostly has no body, and no type that gives it away
    EXPECT_EQ(ask(ClientRequest("DELETE", server.url).stream("", lines(3, 0s), 6)), "200 thanks");
    EXPECT_NE(received.find("\r\nContent-Length: 6\r\n\r\n0,1,2,"), std::string::npos) << received;
    EXPECT_TRUE(ask(ClientRequest("PUT", server.url).stream("a/b", lines(3, 0s), 5))
                    .ends_with("the body is longer than its length says"));
    EXPECT_TRUE(ask(ClientRequest("PUT", server.url).stream("a/b", lines(3, 0s), 7))
                    .ends_with("the body is shorter than its length says"));
    EXPECT_TRUE(ask(ClientRequest("PUT", server.url).stream("a/b", broken()))
                    .starts_with("! body_failed: the body of the request failed: no more"));
    world.settle();
    EXPECT_EQ(client->pool()->connections(), 0U);
}

TEST_F(ClientResponseStreamTest, AnEarlyRefusalEndsTheUpload) {
    ClientTestServer server(world);
    server.answer = [&](net::Connection& connection, const std::string&) {
        if (server.requests.size() == 1) {
            connection.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
        }
    };
    EXPECT_EQ(ask(ClientRequest("POST", server.url).stream("a/b", lines(1'000'000, 1s))), "413 no");
    world.settle();
    EXPECT_EQ(client->pool()->connections(), 0U);
    EXPECT_EQ(ask(ClientRequest("POST", "http://127.0.0.1:1").stream("a/b", lines(1, 0s))),
              "! connect: connect to 127.0.0.1:1: connection refused; nothing listens there");
}

// A server that refuses a body need not read it. Ours waits in the queue, and the answer is read.
TEST_F(ClientResponseStreamTest, AnEarlyRefusalIsReadWhileTheServerTakesNothing) {
    const auto large = []() -> task::Generator<std::string> {
        for (int i = 0; i < 100; ++i) co_yield std::string(100'000, 'x');
    };
    ClientTestServer server(world);
    server.sessions.on_data = [](net::Connection& connection, ByteView data) {
        connection.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
        connection.set_reading(false);
        return data.size();
    };
    EXPECT_EQ(ask(ClientRequest("POST", server.url).stream("a/b", large())), "413 no");
    EXPECT_EQ(ask(ClientRequest("POST", server.url).stream("a/b", large(), 10'000'000)), "413 no");
    EXPECT_EQ(ask(ClientRequest("POST", server.url)
                      .content(Content("a/b", std::string(10'000'000, 'x')))),
              "413 no");
    EXPECT_LT(world.elapsed(), 1s);
}

// The server has said all that it has to say; whether it reads the rest is its own affair. So it is
// over HTTP/2, where the stream is then reset with NO_ERROR.
TEST_F(ClientResponseStreamTest, AWholeAnswerThatComesEarlyIsOneHoweverTheConnectionEnds) {
    ClientTestServer server(world);
    using Reason = net::CloseReason;
    const std::function<void(net::Connection&)> ends[] = {
        [](net::Connection& connection) { connection.finish(); },
        [](net::Connection& connection) { connection.close(Reason::send_memory_full); },
        [](net::Connection& connection) { connection.write("more"); },
    };
    for (const auto& end : ends) {
        int received = 0;
        server.sessions.on_data = [&](net::Connection& connection, ByteView data) {
            if (++received == 1) connection.write(ok("early"));
            if (received == 2) end(connection);
            return data.size();
        };
        EXPECT_EQ(ask(ClientRequest("POST", server.url).stream("a/b", lines(1'000, 1s))),
                  "200 early");
        world.settle();
        EXPECT_EQ(client->pool()->connections(), 0U);
    }
}

// The server has answered, and it is our body that is not through.
TEST_F(ClientResponseStreamTest, NoTimeRunsWhileTheRequestsBodyIsMade) {
    ClientTestServer server(world);
    int received = 0;
    server.sessions.on_data = [&](net::Connection& connection, ByteView data) {
        if (++received == 1) connection.write(ok("early"));
        return data.size();
    };
    make({.timeout = 5s, .read_timeout = 20s});
    std::string told;
    run(read_all(*client, ClientRequest("POST", server.url).stream("a/b", lines(3, 25s)), told));
    EXPECT_EQ(told, "200 early|.");
    EXPECT_GE(world.elapsed(), 75s);
    EXPECT_EQ(client->pool()->idle(), 1U);
}

// Nor while its reader does something else; and what came meanwhile is read in no time.
TEST_F(ClientResponseStreamTest, NoTimeRunsBetweenTwoReads) {
    ClientTestServer server(world);
    server.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    make({.timeout = 5s, .read_timeout = 20s});
    std::string told;
    run([](Client& client, ClientTestServer& server, std::string& told) -> task::Task<> {
        auto stream = co_await client.open(ClientRequest("GET", server.url));
        told += *co_await stream->read() + "|";
        co_await task::sleep(3'600s);
        server.sessions.connection->write("3\r\ntwo\r\n0\r\n\r\n");
        co_await task::sleep(3'600s);
        told += *co_await stream->read() + "|" + *co_await stream->read();
    }(*client, server, told));
    EXPECT_EQ(told, "one|two|");
}

// On a kept connection, by an orderly end and by a reset: no part passes for the whole, nothing of
// it is left for the next request, and only what had no answer at all is sent again.
TEST_F(ClientResponseStreamTest, AnAnswerThatIsCutAnywhereIsNone) {
    const std::string text = "hello, and hello again";
    std::vector<std::string> answers{
        ok(text), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n16\r\n" + text +
                      "\r\n0\r\nLast: 1\r\n\r\n"};
    for (const auto coding : {ContentCoding::gzip, ContentCoding::br, ContentCoding::zstd}) {
        if (coding::make_decoder(coding) == nullptr) continue;
        const std::string name(coding_name(coding));
        answers.push_back(ok(encode(coding, text), "Content-Encoding: " + name + "\r\n"));
    }
    ClientTestServer server(world);
    for (const std::string& answer : answers) {
        for (std::size_t cut = 0; cut < answer.size(); ++cut) {
            for (const bool orderly : {true, false}) {
                int times = 0;
                server.answer = [&](net::Connection& connection, const std::string& request) {
                    if (!request.starts_with("GET /cut "))
                        return (void)connection.write(ok("kept"));
                    if (++times == 2) return (void)connection.write(answer);
                    connection.write(ByteView(answer).substr(0, cut));
                    if (orderly) return connection.finish();
                    connection.close(net::CloseReason::aborted);
                };
                EXPECT_EQ(get(server.url), "200 kept");
                const std::string told = get(server.url + "/cut");
                EXPECT_TRUE(times == 2 ? told == "200 " + text : told.starts_with("! closed: "))
                    << cut << " of " << answer << ": " << told;
                if (orderly) EXPECT_EQ(times, cut == 0 ? 2 : 1) << cut << " of " << answer;
                EXPECT_EQ(get(server.url), "200 kept");
                EXPECT_LE(client->pool()->connections(), 1U);
                server.requests.clear();
            }
        }
    }
}

TEST_F(ClientResponseStreamTest, WhatMakesTheBodyMayEndTheRequest) {
    ClientTestServer server(world);
    task::Scope scope(runner);
    scope.spawn([](Client& client, std::string url, task::Scope& scope) -> task::Task<> {
        const auto body = [](task::Scope& scope) -> task::Generator<std::string> {
            co_yield "some";
            co_await task::sleep(1s);
            scope.cancel();
            co_yield "more";
            ADD_FAILURE() << "it was given up";
        };
        (void)co_await client.request(ClientRequest("POST", url).stream("a/b", body(scope)));
        ADD_FAILURE() << "it was cancelled";
    }(the_client(), server.url, scope));
    world.advance(10s);
    EXPECT_EQ(scope.size(), 0U);
    EXPECT_EQ(client->pool()->connections(), 0U);
    server.say(ok("next"));
    EXPECT_EQ(get(server.url), "200 next");
}

TEST_F(ClientResponseStreamTest, ALargeBodyGoesAsFastAsItIsTaken) {
    ClientTestServer server(world);
    std::uint64_t received = 0;
    const std::string body(10'000'000, 'x');
    server.sessions.on_data = [&](net::Connection& connection, ByteView data) {
        const std::size_t end = received > 0 ? 0 : data.find("\r\n\r\n") + 4;
        received += data.size() - end;
        if (received == body.size()) connection.write(ok("all"));
        return data.size();
    };
    EXPECT_EQ(ask(ClientRequest("POST", server.url).content(Content("a/b", body))), "200 all");
}

TEST_F(ClientResponseStreamTest, ARedirectCannotTakeAStreamAlong) {
    ClientTestServer server(world);
    server.say("HTTP/1.1 307 X\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(ask(ClientRequest("POST", server.url).stream("a/b", lines(1, 0s)))
                    .ends_with("the body cannot be sent twice"));
    server.requests.clear();
    server.say_each(
        {"HTTP/1.1 303 X\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n", ok("seen")});
    EXPECT_EQ(ask(ClientRequest("POST", server.url).stream("a/b", lines(0, 0s), 0)), "200 seen");
}

TEST_F(ClientResponseStreamTest, CodingsAreUndone) {
    ClientTestServer server(world);
    const std::string text(300'000, 'a');
    for (const auto& [name, coding] :
         {std::pair{"gzip", ContentCoding::gzip}, std::pair{"BR", ContentCoding::br},
          std::pair{"zstd", ContentCoding::zstd}, std::pair{"x-gzip", ContentCoding::gzip}}) {
        if (coding::make_decoder(coding) == nullptr) continue;
        server.say(ok(encode(coding, text), std::string("Content-Encoding: ") + name + "\r\n"));
        EXPECT_EQ(get(server.url), "200 " + text) << name;
        const std::string whole = encode(coding, text);
        server.say(ok(whole.substr(0, whole.size() / 2),
                      std::string("Content-Encoding: ") + name + "\r\n"));
        EXPECT_TRUE(get(server.url).ends_with("its content coding ends too early")) << name;
        server.say(
            ok("rubbish, and more of it", std::string("Content-Encoding: ") + name + "\r\n"));
        EXPECT_TRUE(get(server.url).ends_with("its content coding is broken")) << name;
    }
    EXPECT_NE(server.requests.at(0).find("\r\nAccept-Encoding: gzip"), std::string::npos);
    server.say(ok("x", "Content-Encoding: compress\r\n"));
    EXPECT_TRUE(get(server.url).ends_with("a coding not asked for"));
    server.say(ok("x", "Content-Encoding: gzip, gzip\r\n"));
    EXPECT_TRUE(get(server.url).ends_with("a coding not asked for"));
    server.say(
        ok(encode(ContentCoding::gzip, "x"), "Content-Encoding: gzip\r\nContent-Encoding: br\r\n"));
    EXPECT_TRUE(get(server.url).ends_with("a coding not asked for")) << "two layers, one undone";
    server.say(ok("raw", "Content-Encoding: gzip\r\n"));
    EXPECT_EQ(ask(ClientRequest("GET", server.url).header("Accept-Encoding", "gzip")), "200 raw");
    EXPECT_EQ(ask(ClientRequest("GET", server.url).header("Range", "bytes=0-2")), "200 raw");
    EXPECT_EQ(server.requests.back().find("Accept-Encoding"), std::string::npos);
}

// Programs keep answers by the thousand.
TEST_F(ClientResponseStreamTest, AShortBodyThatWasDecodedTakesLittleMemory) {
    if (!coding::built_in_decodings().gzip) GTEST_SKIP() << "built without gzip";
    ClientTestServer server(world);
    server.say(ok(encode(ContentCoding::gzip, "short"), "Content-Encoding: gzip\r\n"));
    std::size_t capacity = 0;
    run([](Client& client, std::string url, std::size_t& capacity) -> task::Task<> {
        const auto answer = co_await client.get(url);
        EXPECT_EQ(answer->body, "short");
        capacity = answer->body.capacity();
    }(the_client(), server.url, capacity));
    EXPECT_LT(capacity, 1'024U);
}

TEST_F(ClientResponseStreamTest, ABodyWithoutABytesIsEmptyInAnyCoding) {
    if (coding::make_decoder(ContentCoding::gzip) == nullptr) GTEST_SKIP();
    ClientTestServer server(world);
    server.say(ok("", "Content-Encoding: gzip\r\n"));
    EXPECT_EQ(get(server.url), "200 ");
}

TEST_F(ClientResponseStreamTest, ABombIsCutAtTheLimit) {
    if (coding::make_decoder(ContentCoding::gzip) == nullptr) GTEST_SKIP();
    ClientTestServer server(world);
    const std::string bomb = encode(ContentCoding::gzip, std::string(50'000'000, '\0'));
    EXPECT_LT(bomb.size(), 100'000U);
    server.say(ok(bomb, "Content-Encoding: gzip\r\n"));
    make({.body_bytes_max = 1'000'000});
    EXPECT_TRUE(get(server.url).starts_with("! too_large: "));
}

}  // namespace
}  // namespace tiderace::http

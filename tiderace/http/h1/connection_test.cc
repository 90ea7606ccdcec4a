#include "tiderace/http/h1/connection.h"

#include <gtest/gtest.h>

#include "tiderace/http/h1/messages_fixture.h"
#include "tiderace/http/wire/status.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h1_stage.h"
#include "tiderace/testing/split_feed.h"

// HTTP/1 as bytes and answers. The paths are H1Stage::add_usual_paths. Answers that take
// longer and the rest of a connection's life: h1_connection_{answers,life}_test.cc; bodies that
// flow: h1_exchange_test.cc.

namespace tiderace::http {
namespace {

using testing::H1Stage;
using testing::Peer;
using testing::World;
using wire::Refusal;

struct Talk {
    std::string name;
    std::string said;
    std::string answer;  // without the Date lines
    bool ends = false;
};

const std::string hello_keep =
    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: keep-alive\r\n\r\nhello\n";
const std::string please_go_on = "HTTP/1.1 100 Continue\r\n\r\n";
const std::string fault = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";

std::string head(const std::string& target) {
    return "HEAD " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
}
std::string upload(const std::string& fields, const std::string& body) {
    return "POST /upload HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" + body;
}
std::string refused(Refusal refusal) {
    const std::string sentence = std::string(wire::explain(refusal)) + "\n";
    return std::string(wire::status_line(wire::status_of(refusal))) +
           "Content-Type: text/plain; charset=utf-8\r\nContent-Length: " +
           std::to_string(sentence.size()) + "\r\nConnection: close\r\n\r\n" + sentence;
}
Talk refusal(std::string name, std::string said, Refusal why) {
    return {std::move(name), std::move(said), refused(why), true};
}

std::vector<Talk> keep_alive_talks() {
    return {
        {"1.1 keeps alive", get_hello, hello},
        {"1.1 close", get("/hello", "Connection: close\r\n"), hello_close, true},
        {"close in a list", get("/hello", "Connection: x, Close ,y\r\n"), hello_close, true},
        {"close in a second field", get("/hello", "Connection: x\r\nConnection: close\r\n"),
         hello_close, true},
        {"close wins", get("/hello", "Connection: keep-alive, close\r\n"), hello_close, true},
        {"1.0 closes", "GET /hello HTTP/1.0\r\n\r\n", hello_close, true},
        {"1.0 keep-alive", "GET /hello HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", hello_keep},
        {"1.0 close wins", "GET /hello HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
         hello_close, true},
        {"1.2 is answered as 1.1", "GET /hello HTTP/1.2\r\nHost: a\r\n\r\n", hello},
        {"an empty line before", "\r\n" + get_hello, hello},
        {"absolute target", "GET http://b/echo?q HTTP/1.1\r\nHost: a\r\n\r\n", ok("/echo q b")},
        {"canonical path", get("//x/.././ech%6f?a=%2e"), ok("/echo a=%2e a")},
        {"no such path", get("/no"), "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
        {"asterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
         "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
    };
}

std::vector<Talk> answer_talks() {
    const std::string close_unknown = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nonetwo";
    return {
        {"HEAD has the length and no body", head("/hello"),
         "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"},
        {"HEAD of a known source", head("/known"), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"},
        {"HEAD of an unknown source", head("/stream"), "HTTP/1.1 200 OK\r\n\r\n"},
        {"HEAD of an unsent body", head("/unsent"),
         "HTTP/1.1 200 OK\r\nContent-Length: 42\r\n\r\n"},
        {"HEAD without a body of its own says nothing of GET's", head("/nothing"),
         "HTTP/1.1 500 Internal Server Error\r\n\r\n"},
        {"204 has neither body nor length", get("/empty"), "HTTP/1.1 204 No Content\r\n\r\n"},
        {"304 has neither body nor length", get("/unchanged"),
         "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"},
        {"known length", get("/known"), ok("0123456789")},
        {"unknown length is chunked", get("/stream"),
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"},
        {"unknown length in 1.0 ends with the connection", "GET /stream HTTP/1.0\r\n\r\n",
         close_unknown, true},
        {"even when 1.0 would keep alive", "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
         close_unknown, true},
        {"chunked and close", get("/stream", "Connection: close\r\n"),
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
         "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n",
         true},
        {"later", get("/later"), ok("later\n")},
        {"a handler that does nothing", get("/nothing"), fault},
        {"a field that cannot be written", get("/bad-field"),
         "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
         true},
        {"framing is the connection's", get("/framing"),
         "HTTP/1.1 200 OK\r\nX-Own: kept\r\nContent-Length: 4\r\n\r\nbody"},
    };
}

std::vector<Talk> body_talks() {
    const std::string chunked = "Transfer-Encoding: chunked\r\n";
    return {
        {"by length", upload("Content-Length: 3\r\n", "abc"), ok("abc")},
        {"empty by length", upload("Content-Length: 0\r\n", ""), ok("")},
        {"none at all", upload("", ""), ok("")},
        {"the largest by length", upload("Content-Length: 100\r\n", std::string(100, 'x')),
         ok(std::string(100, 'x'))},
        {"the largest in chunks",
         upload(chunked, "60\r\n" + std::string(96, 'x') + "\r\n4\r\nxxxx\r\n0\r\n\r\n"),
         ok(std::string(100, 'x'))},
        {"chunked", upload(chunked, "3\r\nabc\r\n2;x=\"y\"\r\nde\r\n0\r\n\r\n"), ok("abcde")},
        {"chunked and empty", upload(chunked, "0\r\n\r\n"), ok("")},
        {"trailers", upload(chunked, "1\r\na\r\n0\r\nX-Sum: 7\r\nX-Two: b\r\n\r\n"),
         ok("a|X-Sum=7|X-Two=b")},
        {"of a GET", "GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nGET ", hello},
        {"dropped when nobody asks",
         "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", hello},
        {"dropped behind an answer that comes later",
         "POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", ok("later\n")},
        {"too much to drop closes",
         "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", hello_close, true},
        {"chunks dropped without a receiver",
         "POST /hello HTTP/1.1\r\nHost: a\r\n" + chunked +
             "\r\n3;x=\"y\"\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n",
         hello},
        {"chunks dropped behind an answer that comes later",
         "POST /later HTTP/1.1\r\nHost: a\r\n" + chunked + "\r\n3\r\nGET\r\n0\r\n\r\n",
         ok("later\n")},
        {"a bad chunk among the dropped ones closes",
         "POST /hello HTTP/1.1\r\nHost: a\r\n" + chunked + "\r\n3\r\nabcd\r\n", hello, true},
        {"chunks are not dropped when they ask to close",
         "POST /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + chunked + "\r\n", hello_close,
         true},
        {"100 before the body", upload("Content-Length: 3\r\nExpect: 100-continue\r\n", "abc"),
         please_go_on + ok("abc")},
        {"100 before chunks", upload(chunked + "Expect: 100-Continue\r\n", "0\r\n\r\n"),
         please_go_on + ok("")},
        {"no 100 without a body", get("/hello", "Expect: 100-continue\r\n"), hello},
        {"no 100 for 1.0",
         "POST /upload HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\na",
         "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na", true},
        {"no 100 when nobody asks",
         "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
         hello_close, true},
        refusal("413 instead of 100", upload("Content-Length: 101\r\nExpect: 100-continue\r\n", ""),
                Refusal::body_too_large),
        refusal("413 by length", upload("Content-Length: 101\r\n", ""), Refusal::body_too_large),
        refusal("413 by chunks",
                upload(chunked, "65\r\n" + std::string(101, 'x') + "\r\n0\r\n\r\n"),
                Refusal::body_too_large),
        refusal("bad chunk size", upload(chunked, "0x1\r\na\r\n0\r\n\r\n"),
                Refusal::bad_chunk_size),
        refusal("chunk longer than its size", upload(chunked, "1\r\nabc\r\n0\r\n\r\n"),
                Refusal::bad_chunk_data),
        refusal("bad trailer", upload(chunked, "0\r\nContent-Length: 1\r\n\r\n"),
                Refusal::bad_trailer),
        refusal("unknown expectation", upload("Content-Length: 1\r\nExpect: tea\r\n", ""),
                Refusal::unknown_expectation),
    };
}

std::vector<Talk> refusal_talks() {
    return {
        refusal("length and chunked",
                upload("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
                Refusal::length_and_chunked),
        refusal("two lengths", upload("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"),
                Refusal::duplicate_length),
        refusal("signed length", upload("Content-Length: +3\r\n", "abc"), Refusal::bad_length),
        refusal("gzip, chunked", upload("Transfer-Encoding: gzip, chunked\r\n", ""),
                Refusal::unknown_transfer_coding),
        refusal("no host", "GET /hello HTTP/1.1\r\n\r\n", Refusal::missing_host),
        refusal("two hosts", get("/hello", "Host: b\r\n"), Refusal::duplicate_host),
        refusal("bad host", "GET /hello HTTP/1.1\r\nHost: a b\r\n\r\n", Refusal::bad_host),
        refusal("HTTP/2.0", "GET /hello HTTP/2.0\r\nHost: a\r\n\r\n", Refusal::unsupported_version),
        refusal("folded", get("/hello", "X: a\r\n b\r\n"), Refusal::obs_fold),
        refusal("space before colon", get("/hello", "X : a\r\n"), Refusal::space_before_colon),
        refusal("bare line feed", "GET /hello HTTP/1.1\nHost: a\r\n\r\n", Refusal::bare_lf),
        refusal("NUL", get("/hello", {"X: a\0b\r\n", 8}), Refusal::nul),
        refusal("above the root", get("/../hello"), Refusal::path_above_root),
        refusal("escaped slash", get("/a%2fb"), Refusal::path_encoded_slash),
        refusal("no target", "GET\r\n\r\n", Refusal::bad_request_line),
    };
}

std::vector<Talk> all_talks() {
    std::vector<Talk> all;
    for (const auto& some : {keep_alive_talks(), answer_talks(), body_talks(), refusal_talks()}) {
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

// A peer that says this and then goes on is reset.
bool is_last_word(const Talk& talk) {
    return talk.said.find("lose") != std::string::npos ||
           talk.said.find("HTTP/1.0") != std::string::npos;
}

// The same with a request before and one behind it in the same bytes.
Talk in_a_row(const Talk& talk) {
    return {talk.name + ", in a row",
            get_hello + talk.said + (talk.ends && is_last_word(talk) ? "" : get_hello),
            hello + talk.answer + (talk.ends ? "" : hello), talk.ends};
}

class H1Talks : public ::testing::TestWithParam<std::string> {
  protected:
    H1Talks() { stage_.add_usual_paths(); }

    std::unique_ptr<World> world_ = testing::make_world(GetParam());
    H1Stage stage_{*world_};
};

INSTANTIATE_TEST_SUITE_P(Worlds, H1Talks, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

TEST_P(H1Talks, GoAsWrittenOnEveryEngineWholeInARowAndByteByByte) {
    for (const Talk& alone : all_talks()) {
        for (const Talk& talk : {alone, in_a_row(alone)}) {
            for (const bool byte_by_byte : {false, true}) {
                SCOPED_TRACE(talk.name + (byte_by_byte ? ", byte by byte" : ""));
                const auto peer = stage_.connect();
                for (std::size_t i = 0; byte_by_byte && i < talk.said.size(); ++i) {
                    peer->say(talk.said.substr(i, 1));
                    world_->loop().turn(Duration::zero());
                }
                if (!byte_by_byte) peer->say(talk.said);
                stage_.run_until([&] {
                    return stage_.heard(*peer).size() >= talk.answer.size() &&
                           (!talk.ends || peer->over());
                });
                EXPECT_EQ(stage_.heard(*peer), talk.answer);
                EXPECT_EQ(peer->over(), talk.ends);
                EXPECT_FALSE(peer->was_reset());
            }
        }
    }
}

TEST_P(H1Talks, NothingBehindARefusedRequestIsServed) {
    for (const Talk& talk : refusal_talks()) {
        SCOPED_TRACE(talk.name);
        stage_.forget_served();
        const auto peer = stage_.connect();
        peer->say(talk.said + get_hello);
        ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
        peer->say(get_hello);
        world_->settle();
        EXPECT_TRUE(stage_.served().empty());
        EXPECT_EQ(stage_.heard(*peer), talk.answer);
    }
}

TEST_P(H1Talks, TheDateIsInEveryFinalAnswer) {
    const auto peer = stage_.connect();
    peer->say(get_hello + get("/no"));
    ASSERT_TRUE(stage_.run_until([&] { return stage_.heard(*peer).size() > hello.size() + 40; }));
    const std::string date = "\r\nDate: Sun, 09 Sep 2001 01:46:40 GMT\r\n";
    const std::size_t first = peer->heard().find(date);
    ASSERT_NE(first, std::string::npos);
    EXPECT_NE(peer->heard().find(date, first + 1), std::string::npos);
}

std::vector<Talk> split_talks() {
    std::vector<Talk> all;
    for (const Talk& talk : all_talks()) {
        all.push_back(talk);
        all.push_back(in_a_row(talk));
    }
    return all;
}

// Over pipes, each connection on the same loop.
TEST(H1Connection, AnswersTheSameHoweverItsInputIsCut) {
    testing::FakeWorld world;
    H1Stage stage(world);
    stage.add_usual_paths();
    for (const Talk& talk : split_talks()) {
        if (HasFailure()) return;  // one talk's cuts are enough to read
        testing::at_every_split(talk.said, [&](auto pieces, const std::string& how) {
            testing::Pipe pipe = testing::make_pipe(world.loop());
            stage.server().adopt(std::move(pipe.near), core::Address::loopback(1));
            testing::TransportPeer peer(world.loop(), std::move(pipe.far));
            for (const ByteView piece : pieces) {
                peer.say(piece);
                world.loop().turn(Duration::zero());
            }
            for (int turns = 0; turns < 12; ++turns) world.loop().turn(Duration::zero());
            EXPECT_EQ(stage.heard(peer), talk.answer) << talk.name << ", " << how;
            EXPECT_EQ(peer.ended(), talk.ends) << talk.name << ", " << how;
            EXPECT_FALSE(peer.was_reset()) << talk.name << ", " << how;
        });
    }
    EXPECT_EQ(world.loop().blocks().taken(), 0U);
}

}  // namespace
}  // namespace tiderace::http

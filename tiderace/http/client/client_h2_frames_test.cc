// The effect of a server's frames on a client of HTTP/2, whether the server is fair or hostile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tiderace/http/client/client_h2_fixture.h"
#include "tiderace/task/sleep.h"

namespace tiderace::http {
namespace {

using namespace std::string_literals;
using Type = wire::H2FrameType;
using wire::H2Error;

class H2FramesTest : public ScriptedH2Test {
  protected:
    struct Fatal {
        std::function<void(std::uint32_t)> say;
        const char* error;
    };
    void expect_to_end(const std::vector<Fatal>& cases) {
        int asked = 0;
        for (const Fatal& c : cases) {
            ++asked;
            answer_with(c.say);
            const std::string told = get(server.url);
            // Bytes from before the fault stay.
            EXPECT_THAT(told, ::testing::AnyOf(::testing::HasSubstr(c.error), "200 x")) << asked;
            world.settle();
            EXPECT_TRUE(heard("GOAWAY "s + c.error)) << asked << ": " << server.last().frames;
            EXPECT_EQ(client->pool()->connections(), 0U) << asked;
            EXPECT_EQ(server.all.size(), static_cast<std::size_t>(asked));
        }
        answer_with([&](std::uint32_t stream) { server.answer(stream, "well"); });
        EXPECT_EQ(get(server.url), "200 well");
    }
};

TEST_F(H2FramesTest, InterimHeadsArePassedOverAndTrailersKept) {
    answer_with([&](std::uint32_t stream) {
        server.head(stream, {{":status", "100"}}, false);
        server.head(stream, {{":status", "103"}, {"link", "</a>"}}, false);
        server.head(stream, {{":status", "200"}, {"a", "1"}}, false);
        server.data(stream, "body", false);
        server.head(stream, {{"checksum", "7"}}, true);
    });
    run([](Client& client, std::string url) -> task::Task<> {
        const auto answer = co_await client.get(url);
        EXPECT_TRUE(answer) << answer.error().message;
        if (!answer) co_return;
        EXPECT_EQ(answer->status, 200);
        EXPECT_EQ(answer->version, HttpVersion::http_2);
        EXPECT_EQ(answer->header("a"), "1");
        EXPECT_EQ(answer->header("link"), "");
        EXPECT_EQ(answer->body, "body");
        EXPECT_EQ(answer->trailers.find("checksum"), "7");
    }(*client, server.url));
}

TEST_F(H2FramesTest, PaddingIsNoPartOfTheBody) {
    answer_with([&](std::uint32_t stream) {
        server.head(stream, {{":status", "200"}}, false);
        server.frame(Type::data, wire::h2_flag::padded, stream, "\6body\0\0\0\0\0\0"s);
        server.frame(Type::data, wire::h2_flag::padded | wire::h2_flag::end_stream, stream,
                     "\1\0"s);
    });
    EXPECT_EQ(get(server.url), "200 body");
}

TEST_F(H2FramesTest, AHeadLargerThanAFrameIsContinued) {
    answer_with([&](std::uint32_t stream) { server.answer(stream, "x"); });
    // Huffman's code makes this character longer.
    EXPECT_EQ(ask(ClientRequest("GET", server.url).header("X-Large", std::string(17'000, '{'))),
              "200 x");
}

TEST_F(H2FramesTest, TrailersAboveOurMaximumAreNotTaken) {
    answer_with([&](std::uint32_t stream) {
        server.head(stream, {{":status", "200"}}, false);
        server.head(stream, H2TestServer::FieldList(2'000, {"a", "b"}), true);
    });
    EXPECT_THAT(get(server.url), ::testing::MatchesRegex("! bad_answer: .*too large"));
    world.settle();
    EXPECT_TRUE(heard("RST 1 CANCEL")) << server.last().frames;
    answer_with([&](std::uint32_t stream) { server.answer(stream, "well"); });
    EXPECT_EQ(get(server.url), "200 well") << "on the same connection";
    EXPECT_EQ(server.all.size(), 1U);
}

// RFC 9113, 6.5.2 counts a field as 32 bytes more than it has.
TEST_F(H2FramesTest, TrailersAboveTheServersMaximumAreNotSent) {
    server.greets = false;
    answer_with([&](std::uint32_t stream) {
        server.settings({{wire::H2SettingId::max_header_list_size, 1'000}});
        server.head(stream, {{":status", "200"}}, false);
    });
    const auto with = [&](std::size_t bytes) {
        Headers one;
        one.add("a", std::string(bytes - 33, 'b'));
        return ClientRequest("POST", server.url)
            .stream("text/plain",
                    []() -> task::Generator<std::string> {
                        co_await task::sleep(1s);  // the SETTINGS are here
                        co_yield "body";
                    }())
            .trailers([one] { return one; });
    };
    EXPECT_THAT(ask(with(1'001)), ::testing::MatchesRegex("! body_failed: .*trailers that large"));
    world.settle();
    EXPECT_TRUE(heard("RST 1 CANCEL")) << server.last().frames;
    EXPECT_EQ(server.last().body_bytes, 4U);
    answer_with([&](std::uint32_t stream) { server.answer(stream, "well"); });
    EXPECT_EQ(get(server.url), "200 well") << "on the same connection";
    EXPECT_EQ(server.all.size(), 1U);
}

// Headers that were encoded and not sent must not stay in the table: the server's would differ.
TEST_F(H2FramesTest, ARequestAboveTheServersMaximumLeavesTheConnectionUsable) {
    server.greets = false;
    answer_with([&](std::uint32_t stream) {
        server.settings({{wire::H2SettingId::max_header_list_size, 1'000}});
        server.answer(stream, "x");
    });
    EXPECT_EQ(get(server.url), "200 x");
    const auto with_accept = [&] {
        return std::move(ClientRequest("GET", server.url).header("Accept", "text/special"));
    };
    EXPECT_THAT(ask(with_accept().header("X-Large", std::string(2'000, 'x'))),
                ::testing::MatchesRegex("! bad_request: .*rejects a head that large"));
    EXPECT_EQ(ask(with_accept()), "200 x") << "the server's decoder has every entry";
    EXPECT_EQ(server.all.size(), 1U);
    EXPECT_EQ(server.last().streams.size(), 2U) << server.last().frames;
}

TEST_F(H2FramesTest, SettingsAndPingsAreAnswered) {
    answer_with([&](std::uint32_t stream) {
        server.settings({{wire::H2SettingId::header_table_size, 0},
                         {wire::H2SettingId::max_frame_size, 100'000}});
        server.frame(Type::ping, 0, 0, "12345678");
        server.frame(static_cast<Type>(0x77), 0, stream, "unknown");
        server.answer(stream, "x");
    });
    for (int i = 0; i < 3; ++i) EXPECT_EQ(get(server.url), "200 x");
    world.settle();
    EXPECT_EQ(server.all.size(), 1U);
    EXPECT_TRUE(heard("ACK; ACK; PONG; ")) << server.last().frames;
}

// Each ends the one answer with RST_STREAM of that error; the connection goes on.
TEST_F(H2FramesTest, AFaultOfOneAnswerEndsItsStream) {
    using Fields = H2TestServer::FieldList;
    const Fields ok{{":status", "200"}};
    const Fields ten{{":status", "200"}, {"content-length", "10"}};
    const struct {
        std::function<void(std::uint32_t)> say;
        const char* error;
        const char* fault;
    } cases[] = {
        {[&](auto s) { server.head(s, {{"a", "b"}}, true); }, "PROTOCOL_ERROR", "malformed"},
        {[&](auto s) { server.head(s, {{":status", "200"}, {"Upper", "b"}}, true); },
         "PROTOCOL_ERROR", "malformed"},
        {[&](auto s) { server.head(s, {{":status", "101"}}, false); }, "PROTOCOL_ERROR",
         "malformed"},
        {[&](auto s) { server.head(s, {{":status", "100"}}, true); }, "PROTOCOL_ERROR", "1xx"},
        {[&](auto s) {
             for (int i = 0; i < 17; ++i) server.head(s, {{":status", "103"}}, false);
         },
         "PROTOCOL_ERROR", "too many 1xx"},
        {[&](auto s) { server.data(s, "x", true); }, "PROTOCOL_ERROR", "a body where none may be"},
        {[&](auto s) {
             server.head(s, ok, false);
             server.head(s, {{"a", "b"}}, false);  // trailers that are not the end
         },
         "PROTOCOL_ERROR", "malformed"},
        {[&](auto s) { server.head(s, ten, true); }, "PROTOCOL_ERROR", "shorter than its length"},
        {[&](auto s) {
             server.head(s, ten, false);
             server.data(s, "short", true);
         },
         "PROTOCOL_ERROR", "not as long as its length"},
        {[&](auto s) {
             server.head(s, ten, false);
             server.data(s, "far too long", false);
         },
         "PROTOCOL_ERROR", "not as long as its length"},
        {[&](auto s) {
             server.head(s, {{":status", "304"}}, false);
             server.data(s, "x", true);
         },
         "PROTOCOL_ERROR", "a body where none may be"},
        {[&](auto s) {
             Fields many = ok;
             for (int i = 0; i < 2'000; ++i) many.emplace_back("a", "b");
             server.head(s, many, true);
         },
         "CANCEL", "head is too large"},
        {[&](auto s) {
             server.head(s, ok, false);
             server.window_update(s, 0x7fff'ffff);
         },
         "FLOW_CONTROL_ERROR", "above the maximum"},
        {[&](auto s) { server.window_update(s, 0); }, "PROTOCOL_ERROR", "does not allow"},
    };
    int asked = 0;
    for (const auto& c : cases) {
        server.on_request = nullptr;
        answer_with(c.say);
        const std::string told = get(server.url + "/" + std::to_string(++asked));
        EXPECT_THAT(told, ::testing::StartsWith("! bad_answer: ")) << asked;
        EXPECT_THAT(told, ::testing::HasSubstr(c.fault)) << asked;
        world.settle();
        EXPECT_TRUE(heard("RST " + std::to_string(server.last().streams.back()) + " " + c.error))
            << asked << server.last().frames;
    }
    answer_with([&](std::uint32_t stream) { server.answer(stream, "well"); });
    EXPECT_EQ(get(server.url), "200 well");
    EXPECT_EQ(server.all.size(), 1U);
    EXPECT_FALSE(heard("! ")) << server.last().frames;
}

// Each ends the connection with GOAWAY of that error, and all that it carries.
TEST_F(H2FramesTest, AFaultOfTheConnectionEndsIt) {
    expect_to_end({
        {[&](auto) { server.say("HTTP/1.1 400 Bad Request\r\n\r\n"); }, "FRAME_SIZE_ERROR"},
        {[&](auto s) { server.frame(Type::headers, wire::h2_flag::end_headers, s, "\xff\xff"s); },
         "COMPRESSION_ERROR"},
        {[&](auto) { server.head(2, {{":status", "200"}}, true); }, "PROTOCOL_ERROR"},
        {[&](auto s) { server.head(s + 2, {{":status", "200"}}, true); }, "PROTOCOL_ERROR"},
        {[&](auto s) { server.data(s + 2, "x", true); }, "PROTOCOL_ERROR"},
        {[&](auto s) { server.reset(s + 2, H2Error::cancel); }, "PROTOCOL_ERROR"},
        {[&](auto s) { server.window_update(s + 2, 1); }, "PROTOCOL_ERROR"},
        {[&](auto s) {
             server.frame(Type::push_promise, wire::h2_flag::end_headers, s,
                          H2TestServer::number(2));
         },
         "PROTOCOL_ERROR"},
        {[&](auto s) {
             server.frame(Type::priority_update, 0, 0, H2TestServer::number(s) + "u=1");
         },
         "PROTOCOL_ERROR"},
        {[&](auto) { server.settings({{wire::H2SettingId::enable_push, 1}}); }, "PROTOCOL_ERROR"},
        {[&](auto) { server.settings({{wire::H2SettingId::initial_window_size, 0x8000'0000}}); },
         "FLOW_CONTROL_ERROR"},
        {[&](auto) { server.settings({{wire::H2SettingId::max_frame_size, 1}}); },
         "PROTOCOL_ERROR"},
        {[&](auto) { server.window_update(0, 0x7fff'ffff); }, "FLOW_CONTROL_ERROR"},
        {[&](auto) { server.window_update(0, 0); }, "PROTOCOL_ERROR"},
        {[&](auto s) { server.frame(Type::data, 0, s, std::string(16'385, 'x')); },
         "FRAME_SIZE_ERROR"},
        {[&](auto s) { server.frame(Type::continuation, 0, s, "x"); }, "PROTOCOL_ERROR"},
        {[&](auto s) {
             server.answer(s, "x");
             server.data(s, "more", true);
         },
         "STREAM_CLOSED"},
    });
}

TEST_F(H2FramesTest, FloodsEndTheConnection) {
    expect_to_end({
        {[&](auto) {
             for (int i = 0; i < 2'000; ++i) server.frame(Type::ping, 0, 0, "12345678");
         },
         "ENHANCE_YOUR_CALM"},
        {[&](auto) {
             for (int i = 0; i < 2'000; ++i) server.settings({});
         },
         "ENHANCE_YOUR_CALM"},
        {[&](auto s) {
             server.head(s, {{":status", "200"}}, false);
             for (int i = 0; i < 2'000; ++i) server.data(s, "", false);
         },
         "ENHANCE_YOUR_CALM"},
        {[&](auto s) {
             server.frame(Type::headers, 0, s, "");
             for (int i = 0; i < 2'000; ++i) server.frame(Type::continuation, 0, s, "");
         },
         "ENHANCE_YOUR_CALM"},
        {[&](auto s) {
             for (int i = 0; i < 20'000; ++i) server.frame(Type::priority, 0, s, "\0\0\0\0\1"s);
         },
         "ENHANCE_YOUR_CALM"},
        {[&](auto s) {
             for (int i = 0; i < 20'000; ++i) server.window_update(s, 1);
         },
         "ENHANCE_YOUR_CALM"},
        {[&](auto) {
             for (int i = 0; i < 20'000; ++i) server.frame(static_cast<Type>(99), 0, 0, "");
         },
         "ENHANCE_YOUR_CALM"},
    });
}

TEST_F(H2FramesTest, GoawayNeverTakesBackWhatItSaid) {
    answer_with([&](std::uint32_t) {
        server.go_away(1, H2Error::no_error);
        server.go_away(3, H2Error::no_error);
    });
    EXPECT_THAT(get(server.url), ::testing::HasSubstr("PROTOCOL_ERROR"));
    world.settle();
    EXPECT_TRUE(heard("GOAWAY PROTOCOL_ERROR"));
}

TEST_F(H2FramesTest, MoreThanTheWindowIsAFault) {
    answer_with([&](std::uint32_t stream) {
        server.head(stream, {{":status", "200"}}, false);
        const std::string frame(16'384, 'x');
        for (int i = 0; i < 17; ++i) server.data(stream, frame, false);
    });
    // One that reads nothing.
    run([](Client& client, std::string url) -> task::Task<> {
        auto stream = co_await client.open(ClientRequest("GET", url));
        EXPECT_TRUE(stream);
        co_await task::sleep(1s);
    }(*client, server.url));
    EXPECT_TRUE(heard("RST 1 FLOW_CONTROL_ERROR")) << server.last().frames;
}

TEST_F(H2FramesTest, LateFramesOfAStreamThatWasGivenUpAreNoFault) {
    make({.timeout = 1s, .versions = ClientVersions::http_2});
    answer_with([&](std::uint32_t stream) { server.head(stream, {{":status", "200"}}, false); });
    EXPECT_THAT(get(server.url), ::testing::StartsWith("! timed_out"));
    world.settle();
    EXPECT_TRUE(heard("RST 1 CANCEL")) << server.last().frames;
    for (int i = 0; i < 2'000; ++i) server.data(1, std::string(100, 'x'), false);
    server.head(1, {{"trailer", "x"}}, true);
    world.settle();
    answer_with([&](std::uint32_t stream) { server.answer(stream, "well"); });
    EXPECT_EQ(get(server.url), "200 well");
    EXPECT_EQ(server.all.size(), 1U);
}

TEST_F(H2FramesTest, WhatWasRefusedIsSentAgain) {
    int requests = 0;
    answer_with([&](std::uint32_t stream) {
        if (++requests <= 2) return server.reset(stream, H2Error::refused_stream);
        server.answer(stream, "third");
    });
    EXPECT_EQ(ask(ClientRequest("POST", server.url).content("x")), "200 third");
    EXPECT_EQ(server.all.size(), 1U);
    requests = -100;
    EXPECT_THAT(get(server.url), ::testing::HasSubstr("REFUSED_STREAM"));
    EXPECT_EQ(requests, -84);  // Client::attempts_max
    // Another code says nothing of what was done.
    requests = 0;
    answer_with([&](std::uint32_t stream) {
        ++requests;
        server.reset(stream, H2Error::internal_error);
    });
    EXPECT_THAT(ask(ClientRequest("POST", server.url).content("x")),
                ::testing::HasSubstr("INTERNAL_ERROR"));
    EXPECT_EQ(requests, 1);
}

TEST_F(H2FramesTest, GoawayLetsTheFirstFinishAndMovesTheRest) {
    int requests = 0;
    answer_with([&](std::uint32_t stream) {
        ++requests;
        if (requests == 3) {
            server.go_away(1, H2Error::no_error);
        } else if (requests > 3) {
            server.answer(stream, "moved");
        }
    });
    const auto first = begin_get("/1");
    world.settle();
    const auto second = begin(ClientRequest("POST", server.url + "/2").content("x"));
    const auto third = begin_get("/3");
    world.settle();
    EXPECT_EQ(server.all.size(), 2U);
    EXPECT_EQ(*second, "200 moved");
    EXPECT_EQ(*third, "200 moved");
    EXPECT_EQ(*first, "");
    H2TestServer::Heard& old = *server.all.front();
    ASSERT_NE(old.connection, nullptr);
    std::swap(server.all.front(), server.all.back());
    server.answer(1, "finished");
    world.settle();
    EXPECT_EQ(*first, "200 finished");
    EXPECT_TRUE(old.ended);
    EXPECT_EQ(server.connections(), 1U);
}

}  // namespace
}  // namespace tiderace::http

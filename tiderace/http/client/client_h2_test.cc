#include "tiderace/http/client/client_h2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tiderace/http/client/client_h2_fixture.h"
#include "tiderace/task/sleep.h"
#include "tiderace/task/within.h"
#include "tiderace/testing/h2_stage.h"

namespace tiderace::http {
namespace {

using wire::H2Error;
using wire::H2SettingId;

// Against our own server, in clear text.
class ClientH2Test : public ClientTest {
  protected:
    ClientH2Test() {
        make({.versions = ClientVersions::http_2});
        stage.on("/large", [this](Exchange& exchange) {
            core::SendQueue queue;
            queue.append_shared(large, {});
            Response response;
            response.set_body(std::move(queue));
            exchange.respond(response);
        });
        stage.on("/count", [](Exchange& exchange) {
            testing::receive_whole(exchange, 10'000'000,
                                   [](Exchange& done, const testing::ReceivedBody& body) {
                                       if (body.failed) return;
                                       Response response;
                                       response.set_body(std::to_string(body.bytes.size()));
                                       done.respond(response);
                                   });
        });
        (void)stage.connect();
        url = "http://" + world.listening_at().to_string();
    }
    static task::Generator<std::string> pieces(int count, std::size_t bytes) {
        for (int i = 0; i < count; ++i) co_yield std::string(bytes, 'p');
    }

    const std::string large = std::string(1'000'000, 'x');
    testing::H2Stage stage{world};
    std::string url;
};

TEST_F(ClientH2Test, TrailersBehindAStreamedBodyReachTheServer) {
    stage.on("/trailers", [](Exchange& exchange) {
        testing::receive_whole(exchange, 10'000'000,
                               [](Exchange& done, const testing::ReceivedBody& body) {
                                   if (body.failed) return;
                                   std::string text = std::to_string(body.bytes.size());
                                   for (const auto& [name, value] : body.trailers) {
                                       text += ' ' + name + '=' + value;
                                   }
                                   Response response;
                                   response.set_body(std::move(text));
                                   done.respond(response);
                               });
    });
    const auto with = [&](Headers fields, int count) {
        return ClientRequest("POST", url + "/trailers")
            .stream("text/plain", pieces(count, 30'000), 30'000U * static_cast<unsigned>(count))
            .trailers([fields] { return fields; });
    };
    Headers two;
    two.add("checksum", "7");
    two.add("x-count", "3");
    for (const ClientVersions versions : {ClientVersions::http_2, ClientVersions::http_1_1}) {
        make({.versions = versions});
        EXPECT_EQ(ask(with(two, 3)), "200 90000 checksum=7 x-count=3");
        EXPECT_EQ(ask(with(two, 0)), "200 0 checksum=7 x-count=3");
        EXPECT_EQ(ask(with(Headers(), 2)), "200 60000");
        for (const char* const name :
             {"Content-Length", "Transfer-Encoding", "Host", "Authorization", "a b", ""}) {
            Headers bad;
            bad.add(name, "1");
            EXPECT_THAT(ask(with(bad, 1)), ::testing::StartsWith("! body_failed: ")) << name;
        }
        EXPECT_EQ(ask(with(two, 3)), "200 90000 checksum=7 x-count=3") << "the next one is whole";
    }
}

TEST_F(ClientH2Test, ManyRequestsShareOneConnection) {
    std::vector<std::shared_ptr<std::string>> all;
    for (int i = 0; i < 300; ++i) all.push_back(begin(ClientRequest("GET", url + "/hello")));
    world.settle();
    for (const auto& told : all) EXPECT_EQ(*told, "200 hello\n");
    EXPECT_LE(client->pool()->counters().opened, 3U);
    EXPECT_EQ(client->pool()->idle(), client->pool()->connections());
    // One after another: on one of them.
    const std::uint64_t opened = client->pool()->counters().opened;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(get(url + "/hello"), "200 hello\n");
    EXPECT_EQ(client->pool()->counters().opened, opened);
}

TEST_F(ClientH2Test, BodiesComeAndGoWhole) {
    EXPECT_EQ(get(url + "/large"), "200 " + large);
    EXPECT_EQ(get(url + "/empty"), "204 ");
    EXPECT_EQ(get(url + "/unchanged"), "304 ");
    EXPECT_EQ(ask(ClientRequest("HEAD", url + "/known")), "200 ");
    EXPECT_EQ(get(url + "/stream"), "200 onetwo");
    for (const std::size_t bytes : {1U, 16'375U, 65'536U, 65'537U, 1'000'000U}) {
        EXPECT_EQ(ask(ClientRequest("POST", url + "/count")
                          .content(Content("a/b", std::string(bytes, 'u')))),
                  "200 " + std::to_string(bytes))
            << bytes;
    }
    EXPECT_EQ(ask(ClientRequest("POST", url + "/count").stream("a/b", pieces(30, 100'000))),
              "200 3000000");
    EXPECT_EQ(ask(ClientRequest("POST", url + "/count").stream("a/b", pieces(30, 1'000), 30'000)),
              "200 30000");
    EXPECT_THAT(ask(ClientRequest("POST", url + "/count").stream("a/b", pieces(3, 10), 31)),
                ::testing::HasSubstr("shorter than its length"));
    EXPECT_EQ(client->pool()->counters().opened, 1U);
    EXPECT_EQ(client->pool()->idle(), 1U);
}

TEST_F(ClientH2Test, ManyAndLargeAtOnce) {
    std::vector<std::shared_ptr<std::string>> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(begin(ClientRequest("POST", url + "/count")
                                .content(Content("a/b", std::string(300'000, 'u')))));
        all.push_back(begin(ClientRequest("GET", url + "/large")));
    }
    EXPECT_TRUE(world.run_until(
        [&] { return std::ranges::none_of(all, [](const auto& told) { return told->empty(); }); }));
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(*all[i], i % 2 == 0 ? "200 300000" : "200 " + large);
    }
    EXPECT_EQ(client->pool()->counters().opened, 1U);
}

TEST_F(ClientH2Test, AReaderThatWaitsHoldsBackItsOwnStreamAlone) {
    run([](Client& client, std::string url, std::size_t length) -> task::Task<> {
        auto stream = co_await client.open(ClientRequest("GET", url + "/large"));
        EXPECT_TRUE(stream);
        if (!stream) co_return;
        EXPECT_EQ(stream->version(), HttpVersion::http_2);
        for (int i = 0; i < 3; ++i) {
            const auto other = co_await client.get(url + "/large");
            EXPECT_TRUE(other && other->body.size() == length);
        }
        co_await task::sleep(1s);
        std::size_t read = 0;
        while (true) {
            const auto piece = co_await stream->read();
            EXPECT_TRUE(piece) << piece.error().message;
            if (!piece || piece->empty()) break;
            EXPECT_LE(piece->size(), ClientH2Stream::window_bytes);
            read += piece->size();
        }
        EXPECT_EQ(read, length);
    }(*client, url, large.size()));
    EXPECT_EQ(client->pool()->counters().opened, 1U);
}

TEST_F(ClientH2Test, AnswersThatAreGivenUpLeaveTheConnection) {
    for (int i = 0; i < 300; ++i) {
        run([](Client& client, std::string url) -> task::Task<> {
            const auto stream = co_await client.open(ClientRequest("GET", url + "/large"));
            EXPECT_TRUE(stream) << stream.error().message;
        }(*client, url));
    }
    EXPECT_EQ(get(url + "/hello"), "200 hello\n");
    EXPECT_EQ(client->pool()->counters().opened, 1U);
    EXPECT_EQ(stage.counters().resets_received, 300U);
}

using ClientH2Scripted = ScriptedH2Test;

TEST_F(ClientH2Scripted, TheServersMaximumIsKeptAndOthersWaitForAnotherConnection) {
    server.greets = false;
    make({.timeout = 1h,
          .versions = ClientVersions::http_2,
          .pool = {.connections_per_host_max = 2}});
    std::vector<std::shared_ptr<std::string>> all;
    all.push_back(begin_get("/first"));
    world.settle();
    server.settings({{H2SettingId::max_concurrent_streams, 3}});
    world.settle();
    for (int i = 0; i < 4; ++i) all.push_back(begin_get("/"));
    world.settle();
    ASSERT_EQ(server.all.size(), 2U);
    EXPECT_EQ(server.all[0]->streams.size(), 3U);
    EXPECT_EQ(server.all[1]->streams.size(), 2U);
    server.settings({{H2SettingId::max_concurrent_streams, 3}});
    world.settle();
    for (int i = 0; i < 4; ++i) all.push_back(begin_get("/"));
    world.settle();
    EXPECT_EQ(server.all[1]->streams.size(), 3U);
    EXPECT_EQ(client->pool()->waiting(), 3U);
    for (const std::uint32_t stream : {1U, 3U, 5U}) server.answer(stream, "x");
    world.settle();
    EXPECT_EQ(server.all[1]->streams.size(), 6U);
    EXPECT_EQ(client->pool()->waiting(), 0U);
    EXPECT_EQ(server.all.size(), 2U);
}

// The bytes that a server may send before a read are bounded for the loop, by windows; what does
// not begin for lack of room begins when others are read or given up.
TEST_F(ClientH2Scripted, AllUnreadBytesHaveOneBound) {
    make({.timeout = 1h,
          .read_timeout = 1h,
          .versions = ClientVersions::http_2,
          .pool = {.connections_per_host_max = 100,
                   .waiting_max = 10'000,
                   .waiting_per_host_max = 10'000}});
    const core::Ref<ReceiveBudget> room = ClientConnections::of(runner)->receive_budget();
    constexpr std::size_t all = ReceiveBudget::bytes_max / ReceiveBudget::first_bytes;
    std::size_t asked = 0;
    answer_with([&](std::uint32_t stream) {
        ++asked;
        server.head(stream, {{":status", "200"}}, false);  // of any length
    });
    std::vector<std::optional<ClientResponseStream>> streams(all + 10);
    for (auto& stream : streams) {
        runner.spawn([](Client& client, std::string url,
                        std::optional<ClientResponseStream>& stream) -> task::Task<> {
            auto opened = co_await client.open(ClientRequest("GET", std::move(url)));
            EXPECT_TRUE(opened) << opened.error().message;
            if (opened) stream.emplace(std::move(*opened));
        }(*client, server.url, stream));
    }
    world.settle();
    const auto opened = [&] { return std::ranges::count_if(streams, [](auto& s) { return !!s; }); };
    // Some have a wide window: these leave half of the room for others.
    EXPECT_LT(asked, all);
    EXPECT_GT(asked, all / 2);
    EXPECT_LE(room->taken(), ReceiveBudget::bytes_max);
    EXPECT_EQ(room->shares_left(), 0U);
    const std::size_t before = asked;
    EXPECT_GT(client->pool()->waiting(), 0U);
    for (auto& stream : streams) {
        if (!stream) continue;
        stream.reset();
        break;
    }
    world.settle();
    EXPECT_GT(asked, before);
    for (int round = 0; round < 100 && asked < streams.size(); ++round) {
        for (auto& stream : streams) stream.reset();
        world.settle();
    }
    EXPECT_EQ(asked, streams.size());
    EXPECT_GT(opened(), 0);
    for (auto& stream : streams) stream.reset();
    EXPECT_EQ(room->taken(), 0U);
}

// A whole answer that was not read counts for its bytes, and no more for its window.
TEST_F(ClientH2Scripted, AnEndedAnswerCountsForItsUnreadBytes) {
    answer_with([&](std::uint32_t stream) { server.answer(stream, std::string(10'000, 'x')); });
    const core::Ref<ReceiveBudget> room = ClientConnections::of(runner)->receive_budget();
    run([](Client& client, std::string url, core::Ref<ReceiveBudget> room) -> task::Task<> {
        auto stream = co_await client.open(ClientRequest("GET", url));
        EXPECT_TRUE(stream);
        co_await task::sleep(1s);
        EXPECT_EQ(room->taken(), 10'000U);
        const auto piece = co_await stream->read();
        EXPECT_TRUE(piece && piece->size() == 10'000U);
        EXPECT_EQ(room->taken(), 0U);
    }(*client, server.url, room));
}

TEST_F(ClientH2Scripted, ConnectionsAreOpenedOneByOneUntilAnAttemptFails) {
    std::vector<std::shared_ptr<std::string>> all;
    for (int i = 0; i < 250; ++i) all.push_back(begin_get("/"));
    world.settle();
    EXPECT_EQ(server.all.size(), 3U);
    EXPECT_EQ(server.all[0]->streams.size(), 100U);
    EXPECT_EQ(server.all[2]->streams.size(), 50U);
    // Where nothing listens each fails, and none waits for ever.
    std::vector<std::shared_ptr<std::string>> refused;
    for (int i = 0; i < 20; ++i)
        refused.push_back(begin(ClientRequest("GET", "http://127.0.0.1:1")));
    world.settle();
    for (const auto& told : refused) EXPECT_THAT(*told, ::testing::StartsWith("! connect: "));
    EXPECT_EQ(client->pool()->waiting(), 0U);
}

TEST_F(ClientH2Scripted, NotMuchIsSentBeforeTheServersSettings) {
    server.greets = false;
    std::vector<std::shared_ptr<std::string>> all;
    for (int i = 0; i < 50; ++i) all.push_back(begin_get("/"));
    world.settle();
    ASSERT_EQ(server.all.size(), 1U);
    EXPECT_EQ(server.last().streams.size(), 16U);
    server.settings({});
    world.settle();
    EXPECT_EQ(server.all.size(), 1U);
    EXPECT_EQ(server.last().streams.size(), 50U);
}

// As servers do after so many requests.
TEST_F(ClientH2Scripted, AServerMayEndItsConnectionsAgainAndAgain) {
    int requests = 0;
    answer_with([&](std::uint32_t stream) {
        if (++requests % 3 == 0) server.go_away(stream > 1 ? stream - 2 : 0, H2Error::no_error);
        server.answer(stream, "x");  // above the last one: passed over
    });
    std::vector<std::shared_ptr<std::string>> all;
    for (int i = 0; i < 20; ++i) all.push_back(begin(ClientRequest("POST", server.url)));
    world.settle();
    for (const auto& told : all) EXPECT_EQ(*told, "200 x");
}

TEST_F(ClientH2Scripted, ABodyWaitsForTheWindows) {
    const std::string body(200'000, 'u');
    const auto told = begin(ClientRequest("POST", server.url).content(Content("a/b", body)));
    const auto other = begin(ClientRequest("POST", server.url).content(Content("a/b", body)));
    world.settle();
    EXPECT_EQ(server.last().body_bytes, 65'535U);  // the connection's window, shared
    server.window_update(0, 1'000'000);
    world.settle();
    EXPECT_EQ(server.last().body_bytes, 2U * 65'535U);  // each stream's
    server.settings({{H2SettingId::initial_window_size, 100'000}});
    world.settle();
    EXPECT_EQ(server.last().body_bytes, 200'000U);
    server.settings({{H2SettingId::initial_window_size, 0}});
    server.window_update(1, 150'000);
    server.window_update(3, 150'000);
    world.settle();
    EXPECT_EQ(server.last().body_bytes, 300'000U);  // below zero for a while
    server.settings({{H2SettingId::initial_window_size, 1'000'000}});
    world.settle();
    EXPECT_EQ(server.last().body_bytes, 400'000U);
    EXPECT_TRUE(heard("END 1; ") && heard("END 3; ")) << server.last().frames;
    server.answer(1, "one");
    server.answer(3, "two");
    world.settle();
    EXPECT_EQ(*told, "200 one");
    EXPECT_EQ(*other, "200 two");
}

TEST_F(ClientH2Scripted, AnEarlyAnswerEndsTheUploadWhereItIsRefused) {
    const std::string body(200'000, 'u');
    const auto refused = begin(ClientRequest("POST", server.url).content(Content("a/b", body)));
    const auto wanted = begin(ClientRequest("POST", server.url).content(Content("a/b", body)));
    const auto enough = begin(ClientRequest("POST", server.url).content(Content("a/b", body)));
    world.settle();
    server.head(1, {{":status", "413"}}, true);
    server.head(3, {{":status", "200"}}, true);
    server.head(5, {{":status", "200"}}, true);
    server.reset(5, H2Error::no_error);
    world.settle();
    EXPECT_EQ(*refused, "413 ");
    EXPECT_EQ(*wanted, "");
    EXPECT_EQ(*enough, "200 ");
    EXPECT_TRUE(heard("RST 1 CANCEL")) << server.last().frames;
    server.window_update(0, 1'000'000);
    server.window_update(3, 1'000'000);
    world.settle();
    EXPECT_EQ(*wanted, "200 ");
    EXPECT_EQ(client->pool()->idle(), 1U);
}

// The answer waits for our body, or for a window for it, which the server has to open.
TEST_F(ClientH2Scripted, TimeRunsForTheServerAlone) {
    const auto slow = [](int count) -> task::Generator<std::string> {
        for (int i = 0; i < count; ++i) {
            co_await task::sleep(25s);
            co_yield "x";
        }
    };
    const std::string body(200'000, 'u');
    const auto made =
        begin(ClientRequest("POST", server.url).stream("a/b", slow(3)).timeout(Duration::max()));
    const auto stuck = begin(
        ClientRequest("POST", server.url).content(Content("a/b", body)).timeout(Duration::max()));
    world.settle();
    server.head(1, {{":status", "200"}}, true);
    server.head(3, {{":status", "200"}}, true);
    server.window_update(0, 1'000'000);  // of the connection; the stream's own stays used up
    world.advance(65s);
    EXPECT_EQ(*made, "");
    EXPECT_THAT(*stuck, ::testing::HasSubstr("the body stopped"));
    world.advance(15s);
    EXPECT_EQ(*made, "200 ");
}

TEST_F(ClientH2Scripted, AWholeAnswerThatComesEarlyIsOneHoweverTheConnectionEnds) {
    const std::function<void()> ends[] = {
        [&] { server.last().connection->finish(); },
        [&] { server.last().connection->close(net::CloseReason::aborted); },
        [&] { server.settings({{H2SettingId::enable_push, 1}}); },  // a fault
    };
    for (const auto& end : ends) {
        answer_with([&](std::uint32_t stream) { server.answer(stream, "early"); });
        const auto told = begin(
            ClientRequest("POST", server.url).content(Content("a/b", std::string(200'000, 'u'))));
        world.settle();
        EXPECT_EQ(*told, "");
        end();
        world.settle();
        EXPECT_EQ(*told, "200 early");
    }
}

TEST_F(ClientH2Scripted, AServerThatIsGoneIsNoticed) {
    answer_with([&](std::uint32_t stream) { server.answer(stream, "x"); });
    EXPECT_EQ(get(server.url), "200 x");
    // Silence, but it is there: its answer to a PING lets others begin again.
    server.on_request = nullptr;
    EXPECT_THAT(ask(ClientRequest("GET", server.url).timeout(1s)),
                ::testing::StartsWith("! timed_out"));
    world.settle();
    EXPECT_TRUE(heard("RST 3 CANCEL; PING; ")) << server.last().frames;
    const auto waits = begin_get("/waits");
    world.settle();
    EXPECT_EQ(server.all.size(), 2U);  // not on one that may be dead
    std::swap(server.all.front(), server.all.back());
    server.frame(wire::H2FrameType::ping, wire::h2_flag::ack, 0, "there???");
    world.settle();
    EXPECT_EQ(client->pool()->connections(), 2U);
    world.advance(10s);
    EXPECT_EQ(client->pool()->connections(), 2U);
    // Now it is not.
    std::swap(server.all.front(), server.all.back());
    const auto lost = begin(ClientRequest("GET", server.url).timeout(1s));
    world.advance(2s);
    EXPECT_THAT(*lost, ::testing::StartsWith("! timed_out"));
    EXPECT_THAT(*waits, ::testing::StartsWith(""));
    world.advance(6s);
    EXPECT_EQ(client->pool()->connections(), 1U);
}

TEST_F(ClientH2Scripted, AnIdleConnectionSaysFarewell) {
    answer_with([&](std::uint32_t stream) { server.answer(stream, "x"); });
    EXPECT_EQ(get(server.url), "200 x");
    world.advance(29s);
    EXPECT_EQ(get(server.url), "200 x");
    world.advance(29s);
    EXPECT_EQ(client->pool()->connections(), 1U);
    world.advance(2s);
    EXPECT_EQ(client->pool()->connections(), 0U);
    EXPECT_TRUE(heard("GOAWAY NO_ERROR")) << server.last().frames;
    EXPECT_EQ(server.connections(), 0U);
}

TEST_F(ClientH2Scripted, AServersFramesKeepNoIdleConnectionOpen) {
    answer_with([&](std::uint32_t stream) { server.answer(stream, "x"); });
    EXPECT_EQ(get(server.url), "200 x");
    for (int i = 0; i < 3; ++i) {
        world.advance(11s);
        if (server.connections() > 0) server.settings({});
    }
    world.settle();
    EXPECT_EQ(client->pool()->connections(), 0U);
    EXPECT_EQ(get(server.url), "200 x");
}

TEST_F(ClientH2Scripted, AConnectionThatBreaksEndsAllItsRequests) {
    const auto first = begin_get("/");
    const auto second = begin(ClientRequest("POST", server.url).content("x"));
    world.settle();
    server.head(3, {{":status", "200"}}, false);
    world.settle();
    server.last().connection->close(net::CloseReason::aborted);
    world.settle();
    EXPECT_THAT(*first, ::testing::HasSubstr("before an answer"));  // it was new then
    EXPECT_THAT(*second, ::testing::HasSubstr("inside the answer"));
    EXPECT_EQ(server.all.size(), 1U);
    // A GET on one that had been used is sent again, once, on a new one.
    int requests = 0;
    answer_with([&](std::uint32_t stream) {
        if (++requests > 1 && server.all.size() == 2) {
            return server.last().connection->close(net::CloseReason::aborted);
        }
        server.answer(stream, "x");
    });
    EXPECT_EQ(get(server.url), "200 x");
    EXPECT_EQ(get(server.url), "200 x");
    EXPECT_EQ(requests, 3);
    EXPECT_EQ(server.all.size(), 3U);
}

// The server cannot have acted on it, so even a POST is sent again.
TEST_F(ClientH2Scripted, ARequestThatNeverLeftIsSentAgainWhateverItsMethod) {
    answer_with([&](std::uint32_t stream) { server.answer(stream, "x"); });
    EXPECT_EQ(get(server.url), "200 x");
    server.last().connection->finish();
    server.last().connection->flush();
    // Begins before the loop looks at the network again.
    EXPECT_EQ(ask(ClientRequest("POST", server.url).content("x")), "200 x");
    EXPECT_EQ(server.all.size(), 2U);
    EXPECT_EQ(server.all.front()->streams.size(), 1U);
}

}  // namespace
}  // namespace tiderace::http

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tiderace/http/client/client.h"
#include "tiderace/http/client/websocket/connect.h"
#include "tiderace/http/wire/h2/frame_reader.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/serve/stream_tls.h"
#include "tiderace/testing/certificates.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h2_stage.h"
#include "tiderace/testing/scripted_session.h"

namespace tiderace::http {
namespace {

// The client over TLS, as programs have it, and our own server.
class ClientTlsTest : public ::testing::Test {
  protected:
    ~ClientTlsTest() override {
        runner_.cancel_spawned();
        client_.reset();
        world_.settle();
    }

    void serve(std::vector<std::string> protocols) {
        const auto files = authority_.issue(folder_, "server", {.names = {"localhost"}});
        const tcp::ServerTls tls({.certificates = {{files.certificate, files.key}}},
                                 std::move(protocols));
        layers_.push_back(tls.layer(world_.loop()).value());
        stage_.server().listen(world_.listen(), layers_.back().get());
        url_ = "https://localhost:" + std::to_string(world_.listening_at().port());
    }
    void make(ClientVersions versions) {
        ClientOptions options;
        options.versions = versions;
        options.proxy_from_environment = false;
        options.tls.ca = authority_.write(folder_, "ca.pem");
        client_.emplace(options);
    }
    // "HTTP/2.0 200 body", or what is wrong; of each of so many at once.
    std::vector<std::string> get(const std::string& path, std::size_t count = 1) {
        std::vector<std::string> told(count);
        for (std::string& each : told) runner_.spawn(ask(*client_, url_ + path, each));
        EXPECT_TRUE(
            world_.run_until([&] { return std::ranges::none_of(told, &std::string::empty); }));
        return told;
    }

  private:
    static task::Task<> ask(Client& client, std::string url, std::string& told) {
        const auto answer = co_await client.get(std::move(url));
        told = answer ? std::string(to_string(answer->version)) + ' ' +
                            std::to_string(answer->status) + ' ' + answer->body
                      : answer.error().message;
    }

  protected:
    testing::TemporaryFolder folder_;
    testing::Authority authority_;
    std::vector<std::shared_ptr<net::TransportLayer>> layers_;
    testing::FakeWorld world_;
    std::optional<testing::H2Stage> made_{std::in_place, world_};
    testing::H2Stage& stage_ = *made_;
    task::Runner runner_{world_.loop()};
    std::optional<Client> client_;
    std::string url_;
};

TEST_F(ClientTlsTest, Http2IsSpokenWhereBothSidesWantIt) {
    const struct {
        std::vector<std::string> offered;
        ClientVersions wanted;
        const char* answer;
    } cases[] = {
        {{"h2", "http/1.1"}, ClientVersions::any, "HTTP/2.0 200 hello\n"},
        {{"h2", "http/1.1"}, ClientVersions::http_2, "HTTP/2.0 200 hello\n"},
        {{"h2", "http/1.1"}, ClientVersions::http_1_1, "HTTP/1.1 200 hello\n"},
        {{"http/1.1"}, ClientVersions::any, "HTTP/1.1 200 hello\n"},
        {{}, ClientVersions::any, "HTTP/1.1 200 hello\n"},
    };
    for (const auto& c : cases) {
        serve(c.offered);
        make(c.wanted);
        EXPECT_THAT(get("/hello"), ::testing::ElementsAre(c.answer));
    }
    serve({});
    make(ClientVersions::http_2);
    EXPECT_THAT(get("/hello")[0], ::testing::EndsWith("the server does not offer HTTP/2"));
}

// Until then a kept connection is one that the authorities of its time had vouched for.
TEST_F(ClientTlsTest, AuthoritiesThatAreReplacedCountForTheNextConnection) {
    serve({"h2", "http/1.1"});
    make(ClientVersions::any);
    EXPECT_THAT(get("/hello"), ::testing::ElementsAre("HTTP/2.0 200 hello\n"));
    const testing::Authority another;
    std::filesystem::rename(another.write(folder_, "new.pem"), folder_.path() + "/ca.pem");
    EXPECT_THAT(get("/hello"), ::testing::ElementsAre("HTTP/2.0 200 hello\n"));
    client_->pool()->close_idle();
    EXPECT_THAT(get("/hello")[0], ::testing::HasSubstr("the TLS handshake failed"));
    std::filesystem::rename(authority_.write(folder_, "new.pem"), folder_.path() + "/ca.pem");
    EXPECT_THAT(get("/hello"), ::testing::ElementsAre("HTTP/2.0 200 hello\n"));
}

// By the layers of WebSockets, which all clients of a loop share.
TEST_F(ClientTlsTest, AuthoritiesThatAreReplacedCountForTheNextWebSocket) {
    serve({"http/1.1"});
    WebSocketConnect how;
    how.proxy_from_environment = false;
    how.tls.system_roots = false;
    how.tls.ca = authority_.write(folder_, "ca.pem");
    const auto open = [&] {
        std::string told;
        runner_.spawn(
            [](std::string url, WebSocketConnect how, std::string& message) -> task::Task<> {
                const auto opened = co_await connect_websocket(url, how);
                message = opened ? "open" : opened.error().message;
            }("wss" + url_.substr(5) + "/hello", how, told));
        EXPECT_TRUE(world_.run_until([&] { return !told.empty(); }));
        return told;
    };
    EXPECT_THAT(open(), ::testing::HasSubstr("the server answered 200"));
    const testing::Authority another;
    std::filesystem::rename(another.write(folder_, "new.pem"), folder_.path() + "/ca.pem");
    EXPECT_THAT(open(), ::testing::Not(::testing::HasSubstr("the server answered")));
}

// What a redirect leads to, by path: whether it came over TLS, and with credentials.
class ClientTlsRedirects : public ClientTlsTest {
  protected:
    ClientTlsRedirects() {
        stage_.on("/see", [this](Exchange& exchange) {
            const Request& request = exchange.request();
            seen_ = std::string(request.secure ? "https" : "http") +
                    (request.has(wire::FieldName::authorization) ? " Authorization" : "") +
                    (request.has(wire::FieldName::cookie) ? " Cookie" : "");
            Response response;
            response.set_body(std::string(seen_));
            exchange.respond(response);
        });
    }
    void lead(const std::string& location) {
        stage_.on("/lead", [location](Exchange& exchange) {
            Response response(302);
            response.add(wire::FieldName::location, response.keep(location));
            exchange.respond(response);
        });
    }
    WebSocketConnect wss() {
        WebSocketConnect how;
        how.tls.ca = authority_.write(folder_, "ca.pem");
        return how;
    }
    // GET /lead with credentials.
    std::string follow() {
        std::string told;
        seen_.clear();
        runner_.spawn(ask(*client_, url_ + "/lead", told));
        EXPECT_TRUE(world_.run_until([&] { return !told.empty(); }));
        return told;
    }
    static task::Task<> ask(Client& client, std::string url, std::string& told) {
        ClientRequest request("GET", std::move(url));
        request.header("Authorization", "Basic YTpi").header("Cookie", "a=1");
        const auto answer = co_await client.request(std::move(request));
        told =
            answer ? std::to_string(answer->status) + ' ' + answer->body : answer.error().message;
    }

    std::string seen_;
};

TEST_F(ClientTlsRedirects, FromHttpsToHttpsKeepTlsAndLeaveCredentialsAtTheirOrigin) {
    for (const ClientVersions versions : {ClientVersions::http_1_1, ClientVersions::any}) {
        serve({"h2", "http/1.1"});
        const std::string other = url_;
        serve({"h2", "http/1.1"});
        make(versions);
        lead("/see");
        EXPECT_EQ(follow(), "200 https Authorization Cookie");
        lead(url_ + "/see");
        EXPECT_EQ(follow(), "200 https Authorization Cookie");
        lead(other + "/see");
        EXPECT_EQ(follow(), "200 https") << "another port is another origin";
        EXPECT_EQ(client_->pool()->counters().opened, 2U);
    }
}

TEST_F(ClientTlsRedirects, ToACertificateThatIsNotTrustedEndThere) {
    serve({"http/1.1"});
    lead("https://127.0.0.1" + url_.substr(url_.rfind(':')) + "/see");  // not one of its names
    make(ClientVersions::any);
    EXPECT_THAT(follow(), ::testing::Not(::testing::StartsWith("200")));
    EXPECT_EQ(seen_, "");
}

TEST_F(ClientTlsRedirects, FromHttpsToHttpAreRefused) {
    serve({"h2", "http/1.1"});
    (void)stage_.connect();  // the plain one
    const std::string plain = "http://localhost:" + std::to_string(world_.listening_at().port());
    for (const ClientVersions versions : {ClientVersions::http_1_1, ClientVersions::any}) {
        make(versions);
        lead(plain + "/see");
        EXPECT_EQ(follow(), url_ + "/lead: leads from https to http");
        EXPECT_EQ(seen_, "") << "it is not asked, with or without credentials";
    }
    // Not of https: it is followed, without what is the other origin's.
    const std::string https = url_;
    url_ = plain;
    lead(https + "/see");
    EXPECT_EQ(follow(), "200 https");
}

TEST_F(ClientTlsRedirects, OfAWebSocketAreNotFollowed) {
    serve({"h2", "http/1.1"});
    make(ClientVersions::any);
    EXPECT_THAT(get("/hello"), ::testing::ElementsAre("HTTP/2.0 200 hello\n"));
    lead(url_ + "/see");
    std::string told;
    runner_.spawn([](Client& client, std::string url, WebSocketConnect how,
                     std::string& message) -> task::Task<> {
        how.proxy_from_environment = false;
        const auto alone = co_await connect_websocket(url, how);
        const auto by_client = co_await connect_websocket(client, url, how);
        message = (alone ? "open" : alone.error().message) + "\n" +
                  (by_client ? "open" : by_client.error().message);
    }(*client_, "wss" + url_.substr(5) + "/lead", wss(), told));
    EXPECT_TRUE(world_.run_until([&] { return !told.empty(); }));
    EXPECT_EQ(std::ranges::count(told, '\n'), 1);
    for (std::size_t at = 0, i = 0; i < 2; ++i, at = told.find('\n') + 1) {
        EXPECT_THAT(told.substr(at), ::testing::HasSubstr("/lead: the server answered 302: "));
    }
    EXPECT_EQ(seen_, "");
}

TEST_F(ClientTlsTest, ABurstToANewServerSharesOneConnection) {
    serve({"h2", "http/1.1"});
    make(ClientVersions::any);
    for (const std::string& told : get("/hello", 90)) EXPECT_EQ(told, "HTTP/2.0 200 hello\n");
    EXPECT_EQ(client_->pool()->counters().opened, 1U);
    // To one of HTTP/1.1 it opens as many as it may, once it knows.
    serve({"http/1.1"});
    for (const std::string& told : get("/hello", 90)) EXPECT_EQ(told, "HTTP/1.1 200 hello\n");
    EXPECT_EQ(client_->pool()->counters().opened, 9U);
}

// Its SETTINGS come with the end of the handshake, before the first request begins.
TEST_F(ClientTlsTest, AServerMayTakeOneRequestAtATime) {
    H2Options options = testing::H2Stage::plain();
    options.streams_max = 1;
    made_.emplace(world_, options);
    serve({"h2"});
    make(ClientVersions::any);
    for (const std::string& told : get("/hello", 90)) EXPECT_EQ(told, "HTTP/2.0 200 hello\n");
    EXPECT_LE(client_->pool()->connections(), 8U);
}

TEST_F(ClientTlsTest, ABurstToAServerThatIsNotTrustedEndsAtOnce) {
    serve({"h2"});
    client_.emplace(ClientOptions{.proxy_from_environment = false});
    for (const std::string& told : get("/hello", 50)) {
        EXPECT_THAT(told, ::testing::EndsWith("the TLS handshake failed: self-signed "
                                              "certificate in certificate chain"));
    }
    EXPECT_EQ(client_->pool()->waiting(), 0U);
    EXPECT_EQ(client_->pool()->connections(), 0U);
}

// A server that speaks HTTP/2, but requires HTTP/1.1 for every request (RFC 9113, 7).
class ClientFallbackTest : public ClientTlsTest {
  protected:
    ClientFallbackTest() {
        sessions_.on_data = [this](net::Connection& connection, ByteView data) {
            if (connection.security()->protocol == "h2") return take_frames(connection, data);
            if (!data.ends_with("\r\n\r\n")) return std::size_t{0};
            ++old_;
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold");
            return data.size();
        };
        sessions_.on_close = [this](net::Connection& connection, net::CloseReason) {
            readers_.erase(&connection);
        };
        const auto files = authority_.issue(folder_, "picky", {.names = {"localhost"}});
        const tcp::ServerTls tls({.certificates = {{files.certificate, files.key}}},
                                 {"h2", "http/1.1"});
        layers_.push_back(tls.layer(world_.loop()).value());
        server_.listen(world_.listen(), layers_.back().get());
        url_ = "https://localhost:" + std::to_string(world_.listening_at().port());
    }
    ~ClientFallbackTest() override {
        client_.reset();
        server_.abort_all();
        world_.settle();
    }

    std::size_t take_frames(net::Connection& connection, ByteView data) {
        wire::H2FrameReader& reader = readers_[&connection];
        for (std::size_t used = 0;;) {
            const auto step = reader.next(data.substr(used));
            used += step.used;
            if (step.status != wire::H2FrameReader::Status::frame) return used;
            const auto* const asked = std::get_if<wire::H2Headers>(&step.frame);
            if (asked == nullptr) continue;
            ++new_;
            std::array<char, 64> bytes;
            const auto error = wire::H2Error::http_1_1_required;
            connection.write(ByteView(bytes.data(), wire::write_h2_settings(bytes, {})));
            connection.write(ByteView(
                bytes.data(), goes_away_ ? wire::write_h2_goaway(bytes, 0, error)
                                         : wire::write_h2_rst_stream(bytes, asked->stream, error)));
        }
    }

    testing::ScriptedSessions sessions_;
    net::TcpServer server_{world_.loop(), sessions_, {}};
    std::map<const net::Connection*, wire::H2FrameReader> readers_;
    bool goes_away_ = false;
    int new_ = 0, old_ = 0;  // requests
};

TEST_F(ClientFallbackTest, WhatAServerRequiresOverHttp11GoesThere) {
    for (const bool goes_away : {false, true}) {
        goes_away_ = goes_away;
        new_ = old_ = 0;
        make(ClientVersions::any);
        EXPECT_THAT(get("/a"), ::testing::ElementsAre("HTTP/1.1 200 old"));
        EXPECT_EQ(new_, 1);
        // The origin is remembered: nothing more goes over HTTP/2.
        for (const std::string& told : get("/b", 20)) EXPECT_EQ(told, "HTTP/1.1 200 old");
        EXPECT_EQ(new_, 1);
        EXPECT_EQ(old_, 21);
    }
}

// Many at once: each that was begun over HTTP/2 comes to its answer.
TEST_F(ClientFallbackTest, ABurstFallsBack) {
    make(ClientVersions::any);
    for (const std::string& told : get("/a", 200)) EXPECT_EQ(told, "HTTP/1.1 200 old");
    EXPECT_EQ(old_, 200);
    EXPECT_EQ(client_->pool()->waiting(), 0U);
}

TEST_F(ClientFallbackTest, WithoutHttp11ItIsAFault) {
    make(ClientVersions::http_2);
    EXPECT_THAT(get("/a")[0], ::testing::HasSubstr("HTTP_1_1_REQUIRED"));
    EXPECT_EQ(old_, 0);
}

}  // namespace
}  // namespace tiderace::http

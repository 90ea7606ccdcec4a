// Ten thousand sites, one in place of the other, while HTTP/1.1, HTTP/2, WebSockets, uploads and
// downloads go on: each request is answered whole, by the site that it began with.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/h1/service.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/http/websocket/accept.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/task/runner.h"
#include "tiderace/testing/h1_stage.h"
#include "tiderace/testing/h2_client.h"
#include "tiderace/testing/websocket_stage.h"
#include "tiderace/testing/world.h"

namespace tiderace::testing {
namespace {

using http::wire::WebSocketOpcode;

constexpr std::size_t download_bytes = 8_MiB;
constexpr int long_rounds = 500;  // of a WebSocket, an upload and a download

// All that one site answers with. Each answer has the number of its site.
class SiteCode final : public http::Handler,
                       public http::ResponseFilter,
                       private http::WebSocketHandler {
  public:
    static inline int alive = 0;

    SiteCode(core::EventLoop& loop, int number, std::vector<SiteCode*>& waiting)
        : name_("site " + std::to_string(number)), waiting_(&waiting), sockets_(loop, {}) {
        ++alive;
    }
    ~SiteCode() override {
        EXPECT_EQ(in_use_, 0) << name_ << " ended before its last request";
        --alive;
    }

    void handle(http::Exchange& exchange) override {
        const ByteView path = exchange.request().path;
        if (path == "/ws") {
            http::accept_websocket(exchange, sockets_, *this);
        } else if (path == "/later") {
            ++in_use_;
            kept_ = exchange.defer();
            waiting_->push_back(this);
        } else if (path == "/upload") {
            ++in_use_;
            receive_whole(exchange, 1_MiB, [this](auto& whole, const ReceivedBody& body) {
                --in_use_;
                answer(whole, name_ + " got " + std::to_string(body.bytes.size()));
            });
        } else if (path == "/download") {
            http::Response response;
            response.set_body(std::make_unique<Download>(*this), download_bytes);
            exchange.respond(response);
        } else {
            answer(exchange, name_);
        }
    }
    // An answer passes through the stages of the site in which its request began.
    void filter(http::Exchange&, http::Response& response) override {
        response.add("X-Site", name_);
    }
    // Code of the site goes on behind the end of its last request.
    void answer_later() {
        answer(*std::exchange(kept_, {}), name_);
        --in_use_;
    }

  private:
    class Download final : public http::BodySource {
      public:
        explicit Download(SiteCode& site) : site_(&site) { ++site.in_use_; }
        ~Download() override { --site_->in_use_; }
        State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
            out.append(blocks, site_->piece_);
            sent_ += site_->piece_.size();
            return sent_ == download_bytes ? State::end : State::more;
        }

      private:
        SiteCode* site_;
        std::size_t sent_ = 0;
    };

    static void answer(http::Exchange& exchange, std::string body) {
        http::Response response;
        response.set_body(std::move(body));
        exchange.respond(response);
    }
    void on_open(http::WebSocketConnection&) override { ++in_use_; }
    void on_message(http::WebSocketConnection& socket, http::WebSocketKind kind,
                    ByteView message) override {
        socket.send(kind, name_ + ": " + std::string(message));
    }
    void on_close(http::WebSocketConnection&, std::uint16_t, ByteView) override { --in_use_; }

    std::string name_;
    std::string piece_ = std::string(16_KiB, 'x');
    int in_use_ = 0;
    std::vector<SiteCode*>* waiting_;
    core::Ref<http::Exchange> kept_;
    http::WebSocketService sockets_;
};

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
}

class ReplacedSite : public ::testing::TestWithParam<std::string> {
  protected:
    ReplacedSite() {
        http::LayerPlace place = this->place();
        site_.emplace(make_site(), place);
        http1_.emplace(world_->loop(), *site_, http::H1Options{{.server_name = ""}});
        http2_.emplace(world_->loop(), *site_,
                       http::H2Options{{.server_name = ""}, {.extended_connect = true}});
        http1_->set_http2(*http2_);
        server_.emplace(world_->loop(), *http1_, net::TcpServerOptions{});
        server_->listen(world_->listen());
    }
    ~ReplacedSite() override {
        server_->abort_all();
        world_->settle();
    }

    http::LayerPlace place() { return {world_->loop(), nullptr, runner_, states_}; }
    std::shared_ptr<const http::Site> make_site() {
        auto site = std::make_shared<http::Site>();
        const auto code = std::make_shared<SiteCode>(world_->loop(), ++sites_, waiting_);
        site->scope(0).settings = {{.make = [code](auto&) { return http::Layer(code); }}};
        EXPECT_TRUE(site->add(
            {.make = [code](auto&) { return code; }, .is_websocket = true, .is_prefix = true}));
        return site;
    }
    void replace() {
        http::LayerPlace place = this->place();
        ASSERT_TRUE(site_->replace(make_site(), place));
    }
    // As another thread asks for it.
    void post_replacement() {
        const int before = sites_;
        ASSERT_TRUE(world_->loop().post([this] { replace(); }));
        ASSERT_TRUE(world_->run_until([&] { return sites_ > before; }));
    }
    std::string name() const { return "site " + std::to_string(sites_); }
    std::unique_ptr<Peer> ask(const std::string& request) {
        auto peer = world_->connect();
        peer->say(request);
        return peer;
    }
    void answer_waiting() {
        for (SiteCode* const each : std::exchange(waiting_, {})) each->answer_later();
    }

    std::unique_ptr<World> world_ = make_world(GetParam());
    int sites_ = 0;
    std::vector<SiteCode*> waiting_;
    task::Runner runner_{world_->loop()};
    http::States states_;
    std::optional<http::SiteLoop> site_;
    std::optional<http::H1Service> http1_;
    std::optional<http::H2Service> http2_;
    std::optional<net::TcpServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, ReplacedSite, ::testing::Values("fake", "epoll"),
                         [](const auto& info) { return label_of_world(info.param); });

TEST_P(ReplacedSite, ARequestKeepsTheSiteThatItBeganWithAndNoOther) {
    const auto old = ask("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(world_->run_until([&] { return waiting_.size() == 1; }));
    for (int i = 0; i < 3; ++i) post_replacement();
    EXPECT_EQ(SiteCode::alive, 2) << "those between had no request";
    const auto fresh = ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    ASSERT_TRUE(world_->run_until([&] { return fresh->over(); }));
    EXPECT_EQ(count(fresh->heard(), "site 4"), 2U) << "of its filter and its handler";
    ASSERT_TRUE(world_->loop().post([this] { answer_waiting(); }));
    ASSERT_TRUE(world_->run_until([&] { return old->heard().ends_with("site 1"); }));
    EXPECT_EQ(count(old->heard(), "site 1"), 2U);
    world_->settle();
    EXPECT_EQ(SiteCode::alive, 1);
}

TEST_P(ReplacedSite, ASiteOutlivesTheTurnInWhichItsLastRequestEnds) {
    const auto peer =
        ask("GET /later HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(world_->run_until([&] { return waiting_.size() == 1; }));
    ASSERT_TRUE(world_->loop().post([this] {
        replace();
        answer_waiting();
        EXPECT_EQ(SiteCode::alive, 2) << "until the end of the turn";
    }));
    ASSERT_TRUE(world_->run_until([&] { return peer->heard().ends_with("site 2"); }));
    world_->settle();
    EXPECT_EQ(SiteCode::alive, 1) << "the spare exchange holds nothing";
}

// What lasts: a WebSocket, an upload and a download, over both versions of HTTP.
class LongRequests {
  public:
    LongRequests(World& world, std::string site)
        : site_(std::move(site)),
          socket_(world.connect()),
          upload_(world.connect()),
          download_(world.connect()),
          peer_(world.connect()),
          h2_(*peer_, {{http::wire::H2SettingId::initial_window_size, 0x7fffffff}}) {
        socket_->say(WebSocketStage::request());
        const std::string length = std::to_string(long_rounds);
        upload_->say("POST /upload HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " +
                     length + "\r\n\r\n");
        download_->set_listening(false);
        download_->say("GET /download HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        h2_.window_update(0, 0x7fff0000);
        h2_.headers(1,
                    {{":method", "CONNECT"},
                     {":scheme", "http"},
                     {":path", "/ws"},
                     {":authority", "a"},
                     {":protocol", "websocket"},
                     {"sec-websocket-version", "13"}},
                    false);
        h2_.request("POST", "/upload", {}, false);
        EXPECT_TRUE(world.run_until([&] { return h2_.answer(1).status == 200; }));
        peer_->set_listening(false);
        h2_.get("/download");
        world.settle();
    }
    void go_on(int round) {
        const std::string frame = client_frame(WebSocketOpcode::text, "tide");
        const bool is_last = round == long_rounds - 1;
        socket_->say(frame);
        h2_.data(1, frame, false);
        upload_->say("u");
        h2_.data(3, "u", is_last);
    }
    void end(World& world) {
        const std::string close = client_frame(WebSocketOpcode::close, "");
        socket_->say(close);
        h2_.data(1, close, true);
        download_->set_listening(true);
        peer_->set_listening(true);
        ASSERT_TRUE(world.run_until([&] {
            return socket_->over() && upload_->over() && download_->over() && h2_.answer(1).ended &&
                   h2_.answer(3).ended && h2_.answer(5).ended;
        })) << site_;
        const std::string echo = "text(" + site_ + ": tide)";
        EXPECT_EQ(count(WebSocketStage::heard(*socket_), echo), std::size_t{long_rounds});
        EXPECT_EQ(count(describe_server_frames(h2_.answer(1).body), echo),
                  std::size_t{long_rounds});
        const std::string got = site_ + " got " + std::to_string(long_rounds);
        EXPECT_TRUE(upload_->heard().ends_with("\r\n\r\n" + got)) << upload_->heard();
        EXPECT_EQ(h2_.answer(3).body, got);
        const std::string& heard = download_->heard();
        EXPECT_EQ(heard.size() - heard.find("\r\n\r\n") - 4, download_bytes);
        EXPECT_EQ(count(heard, "X-Site: " + site_ + "\r\n"), 1U);
        EXPECT_EQ(h2_.answer(5).body.size(), download_bytes);
        EXPECT_EQ(h2_.answer(5).header("x-site"), site_);
    }

  private:
    std::string site_;
    std::unique_ptr<Peer> socket_, upload_, download_, peer_;
    H2Client h2_;
};

TEST_P(ReplacedSite, NothingIsLostOrKeptInTenThousandReplacements) {
    constexpr int rounds = 10'000;
    const auto kept = world_->connect();
    const auto h2_peer = world_->connect();
    H2Client h2(*h2_peer);
    std::optional<LongRequests> lasting;
    std::string waited;
    std::uint32_t late = 0;
    h2.window_update(0, 0x7fff0000);
    for (int i = 0; i < rounds; ++i) {
        if (i % long_rounds == 0) lasting.emplace(*world_, name());
        if (i % 100 == 0) {
            late = h2.get("/later");
            waited = name();
            ASSERT_TRUE(world_->run_until([&] { return !waiting_.empty(); }));
            world_->advance(1ms);  // a fake world bounds the turns in which time stands still
        }
        kept->say("GET / HTTP/1.1\r\nHo");
        post_replacement();
        kept->say("st: a\r\n\r\n");
        const std::uint32_t stream = h2.get("/");
        lasting->go_on(i % long_rounds);
        ASSERT_TRUE(world_->run_until([&] {
            return kept->heard().ends_with("\r\n\r\n" + name()) && h2.answer(stream).ended;
        })) << name();
        ASSERT_EQ(h2.answer(stream).body, name());
        if (i % 100 == 50) {
            answer_waiting();
            ASSERT_TRUE(world_->run_until([&] { return h2.answer(late).body == waited; }));
        }
        if (i % long_rounds == long_rounds - 1) lasting->end(*world_);
        // This one, the one that /later waits in, and the one of the lasting requests.
        ASSERT_TRUE(world_->run_until([] { return SiteCode::alive <= 3; })) << name();
    }
    lasting.reset();  // a WebSocket waits for its peer's end
    ASSERT_TRUE(world_->run_until([] { return SiteCode::alive == 1; }));
    EXPECT_EQ(count(kept->heard(), "200 OK"), std::size_t{rounds});
    EXPECT_FALSE(kept->over() || h2_peer->over());
}

}  // namespace
}  // namespace tiderace::testing

// The end of a request reaches all that its handler waits for at once: a request of its own to
// another server, and a statement in a real database, which both end there as well.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tiderace/core/clock.h"
#include "tiderace/db.h"
#include "tiderace/http/app/app.h"
#include "tiderace/http/app/app_loop.h"
#include "tiderace/http/client/client.h"
#include "tiderace/http/h1/service.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/task.h"
#include "tiderace/testing/database_server.h"
#include "tiderace/testing/h1_stage.h"
#include "tiderace/testing/h2_client.h"
#include "tiderace/testing/world.h"

namespace tiderace::testing {
namespace {

using task::Task;

class RequestEnds : public ::testing::TestWithParam<db::Dialect> {
  protected:
    static constexpr Duration handler_timeout = 1h;  // of the world's clock
    static constexpr Duration never = 100h;          // what the calls themselves would allow

    void SetUp() override {
        if (const auto why = DatabaseServer::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
        const std::string url = DatabaseServer::shared(GetParam()).fresh("ends");
        db::Options longer;
        longer.statement_timeout = never;
        longer.connections_max = 1;  // so that the next request needs the one that was cancelled
        database_.emplace(db::open(url, longer));
        watching_.emplace(db::open(url));
        other_.on("/never", [this](http::Exchange& exchange) { unanswered_ = exchange.defer(); });
        other_.server().listen(world_->listen());
        other_url_ = "http://" + world_->listening_at().to_string() + "/never";
        http::ClientOptions options;
        options.proxy_from_environment = false;
        options.timeout = options.read_timeout = never;
        client_ = std::make_unique<http::Client>(nullptr, options);
        app_.get<"/both">([this] { return wait_for_both(); });
        app_.get<"/ready">([this]() -> Task<std::string> {
            const auto one = co_await database_->one<std::int64_t>("select 1");
            co_return one == 1 ? "ready" : "no";
        });
        loop_.emplace(world_->loop(), app_, &pool_);
        service_.emplace(world_->loop(), loop_->site(), http::H1Options{});
        http2_.emplace(world_->loop(), loop_->site(), http::H2Options{});
        service_->set_http2(*http2_);
        server_.emplace(world_->loop(), *service_, net::TcpServerOptions{});
        server_->listen(world_->listen());
    }
    void TearDown() override {
        if (!server_) return;
        server_->abort_all();
        world_->settle();
        loop_.reset();  // and with it the tasks that use these
        client_.reset();
        other_.server().abort_all();
        world_->settle();
    }

    Task<std::string> wait_for_both() {
        const std::shared_ptr<void> here(nullptr, [this](void*) { ++ended_; });
        auto call = client_->get(other_url_);
        auto statement = database_->exec(statement_text());
        co_await task::when_all(std::move(call), std::move(statement));
        co_return "both";
    }
    static const char* statement_text() {
        return GetParam() == db::Dialect::postgres ? "select pg_sleep(1000)" : "select sleep(1000)";
    }
    // The statements of wait_for_both() that the database executes now.
    std::int64_t statements() {
        auto count = watching_->one<std::int64_t>(
            GetParam() == db::Dialect::postgres
                ? "select count(*) from pg_stat_activity where state = 'active' and query like "
                  "'%pg_sleep(1000)%' and pid <> pg_backend_pid()"
                : "select count(*) from information_schema.processlist where info like "
                  "'%sleep(1000)%' and id <> connection_id()");
        return task::run(std::move(count)).value_or(-1);
    }
    // Other processes have a part in it, so the world does not know when all has happened.
    template <typename Done>
    bool wait_until(Done done) {
        const core::SystemClock clock;
        for (const Instant end = clock.now() + 100s; clock.now() < end;) {
            world_->settle();
            if (done()) return true;
        }
        return false;
    }
    std::unique_ptr<Peer> begin() {
        auto peer = world_->connect();
        peer->say("GET /both HTTP/1.1\r\nHost: a\r\n\r\n");
        expect_both_begun();
        return peer;
    }
    void expect_both_begun() {
        EXPECT_TRUE(wait_until([&] { return other_.server().size() == 1 && statements() == 1; }));
        EXPECT_EQ(ended_, 0);
        EXPECT_EQ(client_->pool()->idle(), 0U) << "the call is not answered";
    }
    void expect_both_ended() {
        EXPECT_TRUE(wait_until([&] { return ended_ == 1; })) << "the handler";
        // Its client closed; a half-closed one could still read, so the server waits.
        world_->advance(http::H1Options{}.half_closed_timeout + 1s);
        EXPECT_TRUE(wait_until([&] { return other_.server().size() == 0; })) << "the request";
        EXPECT_TRUE(wait_until([&] { return statements() == 0; })) << "the statement";
        const auto peer = world_->connect();
        peer->say("GET /ready HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_TRUE(wait_until([&] { return peer->heard().ends_with("ready"); }));
    }

    std::unique_ptr<World> world_ = make_world("poll");
    H1Stage other_{*world_};
    core::Ref<http::Exchange> unanswered_;
    std::string other_url_;
    std::optional<db::Database> database_, watching_;
    std::unique_ptr<http::Client> client_;
    core::WorkerPool pool_{2, 16};
    http::App app_{{.handler_timeout = handler_timeout}};
    std::optional<http::AppLoop> loop_;
    std::optional<http::H1Service> service_;
    std::optional<http::H2Service> http2_;
    std::optional<net::TcpServer> server_;
    int ended_ = 0;
};

TEST_P(RequestEnds, ItsClientIsGoneAndBothAreCancelled) {
    const auto peer = begin();
    peer->reset();
    expect_both_ended();
}

TEST_P(RequestEnds, ItsHttp2StreamIsResetAndBothAreCancelledButNoOtherStream) {
    const auto peer = world_->connect();
    H2Client browser(*peer);
    const auto both = browser.get("/both");
    expect_both_begun();
    browser.reset(both);
    EXPECT_TRUE(wait_until([&] { return ended_ == 1; })) << "the handler";
    const auto next = browser.get("/ready");
    EXPECT_TRUE(wait_until([&] { return browser.answer(next).body == "ready"; }));
    EXPECT_EQ(browser.goaway(), std::nullopt);
    expect_both_ended();
}

TEST_P(RequestEnds, ItsHttp2ConnectionIsGoneAndBothAreCancelled) {
    const auto peer = world_->connect();
    H2Client browser(*peer);
    browser.get("/both");
    expect_both_begun();
    peer->reset();
    expect_both_ended();
}

TEST_P(RequestEnds, ItsDeadlineEndsBoth) {
    const auto peer = begin();
    world_->advance(handler_timeout + 1s);
    EXPECT_TRUE(wait_until([&] { return peer->heard().starts_with("HTTP/1.1 503 "); }))
        << peer->heard();
    expect_both_ended();
}

INSTANTIATE_TEST_SUITE_P(Servers, RequestEnds,
                         ::testing::Values(db::Dialect::postgres, db::Dialect::mariadb),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::testing

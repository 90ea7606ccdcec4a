#include "tiderace/http/request_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/site_loop.h"
#include "tiderace/metrics/own_cpu.h"
#include "tiderace/task/runner.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::RecordedExchange;

class Nothing final : public Handler {
  public:
    void handle(Exchange& exchange) override { exchange.respond_status(204); }
};

class RequestMetricsTest : public ::testing::Test {
  protected:
    RequestMetricsTest() {
        add(0, wire::Method::get, "/users/{id}");
        add(0, wire::Method::post, "/users/{id}");
        Site::Scope& scope = site_.scope(site_.add_scope(0, ""));
        scope.host = site_.host("a.example");
        add(1, wire::Method::get, "/users/{id}");
    }
    LoopMetrics& add_loop() {
        LoopMetrics& loop = metrics_.add_loop();
        EXPECT_THAT(loop.learn(site_), ::testing::ElementsAre(1, 1, 2));
        return loop;
    }
    void add(std::uint32_t scope, wire::Method method, const char* pattern) {
        EXPECT_TRUE(site_.add({.pattern = pattern, .method = method, .scope = scope, .make = {}}));
    }
    void count(LoopMetrics& loop, std::string_view method, const Matched* matched, int status,
               Duration duration = 1ms, HttpVersion version = HttpVersion::http_1_1) {
        wire::RequestHead head;
        head.set_method(method);
        Request request;
        request.head = &head;
        request.version = version;
        loop.count({.request = &request,
                    .status = status,
                    .body_bytes = 612,
                    .received_bytes = 0,
                    .duration = duration,
                    .matched = matched});
    }
    std::string page() const {
        metrics::Page page(metrics::PageFormat::prometheus);
        metrics_.add_to(page);
        return std::move(page).take();
    }
    static std::string requests(const std::string& labels, int count) {
        return "\ntiderace_http_requests_total{" + labels + "} " + std::to_string(count) + "\n";
    }

    Site site_;
    SiteMetrics metrics_;
    const Matched get_{"/users/{id}", 1};
    const Matched post_{"/users/{id}", 1};
    const Matched other_host_{"/users/{id}", 2};
};

TEST_F(RequestMetricsTest, LoopsAreSummedUpByRouteMethodStatusAndVersion) {
    LoopMetrics& one = add_loop();
    LoopMetrics& two = add_loop();
    for (int i = 0; i < 3; ++i) count(one, "GET", &get_, 200);
    for (int i = 0; i < 4; ++i) count(two, "GET", &get_, 200);
    count(one, "HEAD", &get_, 200);
    count(one, "GET", &get_, 200, 1ms, HttpVersion::http_2);
    count(two, "POST", &post_, 500);
    count(two, "GET", &other_host_, 404);
    const std::string all = page();
    const std::string route = R"(site="",route="/users/{id}",)";
    EXPECT_THAT(all, HasSubstr(requests(route + R"(method="GET",code="200",protocol="1.1")", 7)));
    EXPECT_THAT(all, HasSubstr(requests(route + R"(method="HEAD",code="200",protocol="1.1")", 1)));
    EXPECT_THAT(all, HasSubstr(requests(route + R"(method="GET",code="200",protocol="2")", 1)));
    EXPECT_THAT(all, HasSubstr(requests(route + R"(method="POST",code="500",protocol="1.1")", 1)));
    EXPECT_THAT(all, HasSubstr(requests(R"(site="a.example",route="/users/{id}",method="GET",)"
                                        R"(code="404",protocol="1.1")",
                                        1)));
}

TEST_F(RequestMetricsTest, NoClientMakesASeries) {
    LoopMetrics& loop = add_loop();
    for (int i = 0; i < 1'000; ++i) {
        count(loop, "BREW" + std::to_string(i), nullptr, 501);
        count(loop, "GET", nullptr, 299);
        count(loop, "GET", nullptr, i);
    }
    const std::string all = page();
    EXPECT_THAT(all, Not(HasSubstr("BREW")));
    EXPECT_THAT(all, HasSubstr(requests(
                         R"(site="",route="",method="other",code="501",protocol="1.1")", 1'000)));
    EXPECT_LT(std::ranges::count(all, '\n'), 200);
}

// A tree that replaces another has other numbers for the same endpoints.
TEST_F(RequestMetricsTest, AReplacedSiteGoesOnCountingAtItsRoutes) {
    testing::FakeWorld world;
    task::Runner runner(world.loop());
    const States states;
    LayerPlace place{world.loop(), nullptr, runner, states};
    const auto site_of = [](const std::vector<std::string>& paths) {
        auto site = std::make_shared<Site>();
        for (const std::string& path : paths) {
            EXPECT_TRUE(site->add({.pattern = path, .method = wire::Method::get, .make = [](auto&) {
                                       return std::make_shared<Nothing>();
                                   }}));
        }
        return site;
    };
    SiteLoop loop(site_of({"/a", "/b"}), place);
    LoopMetrics& of_loop = metrics_.add_loop();
    loop.set_metrics(of_loop);
    const auto get = [&](const std::string& path) {
        const auto exchange = core::make_ref<RecordedExchange>(world.loop(), "GET", path);
        loop.serve(*exchange);
        count(of_loop, "GET", exchange->matched(), exchange->status());
    };
    const auto counted = [](const std::string& path, int count) {
        return HasSubstr(requests(
            "site=\"\",route=\"" + path + R"(",method="GET",code="204",protocol="1.1")", count));
    };
    get("/a");
    get("/b");
    ASSERT_TRUE(loop.replace(site_of({"/c", "/b"}), place));
    get("/b");
    get("/c");
    EXPECT_THAT(page(), AllOf(counted("/a", 1), counted("/b", 2), counted("/c", 1)));
    world.loop().turn(Duration::zero());
    // No tree has it any more.
    EXPECT_THAT(page(), AllOf(Not(HasSubstr("\"/a\"")), counted("/b", 2)));
    ASSERT_TRUE(loop.replace(site_of({"/a", "/b"}), place));
    get("/a");
    EXPECT_THAT(page(), AllOf(counted("/a", 1), counted("/b", 2), counted("/c", 1)));
}

// As `tiderace serve` has it, whose files are below "" of every host.
TEST_F(RequestMetricsTest, AnEndpointOfAllPathsIsNoSecondSeriesOfTheSameLabels) {
    Site site;
    ASSERT_TRUE(site.add({.pattern = "", .make = {}, .is_prefix = true}));
    LoopMetrics& loop = metrics_.add_loop();
    const Matched all_paths{"", loop.learn(site).at(0)};
    count(loop, "GET", &all_paths, 200);
    count(loop, "GET", nullptr, 200);
    EXPECT_THAT(page(), HasSubstr(requests(
                            R"(site="",route="",method="GET",code="200",protocol="1.1")", 2)));
    loop.forget(std::vector<std::uint32_t>{all_paths.series});
    count(loop, "GET", nullptr, 200);
    EXPECT_THAT(page(), HasSubstr(requests(
                            R"(site="",route="",method="GET",code="200",protocol="1.1")", 3)));
    site.name_of_others = "default";
    const Matched named{"", loop.learn(site).at(0)};
    count(loop, "GET", &named, 200);
    EXPECT_THAT(page(), HasSubstr(R"({site="default",route="",method="GET",)"));
    EXPECT_THAT(
        metrics_.requests().answered,
        ::testing::UnorderedElementsAre(::testing::Pair("", 3), ::testing::Pair("default", 1)));
}

TEST_F(RequestMetricsTest, DurationsAndSizesFallIntoTheirBuckets) {
    LoopMetrics& loop = add_loop();
    for (const Duration duration : {Duration(0ms), Duration(5ms), Duration(6ms), Duration(1h)}) {
        count(loop, "GET", &get_, 200, duration);
    }
    const std::string all = page();
    const std::string bucket =
        "\ntiderace_http_request_duration_seconds_bucket{site=\"\","
        "route=\"/users/{id}\",le=";
    EXPECT_THAT(all, HasSubstr(bucket + "\"0.005\"} 2\n"));
    EXPECT_THAT(all, HasSubstr(bucket + "\"0.01\"} 3\n"));
    EXPECT_THAT(all, HasSubstr(bucket + "\"10.0\"} 3\n"));
    EXPECT_THAT(all, HasSubstr(bucket + "\"+Inf\"} 4\n"));
    EXPECT_THAT(all, HasSubstr("duration_seconds_sum{site=\"\",route=\"/users/{id}\"} 3600.011\n"));
    EXPECT_THAT(
        all, HasSubstr("response_body_size_bytes_sum{site=\"\",route=\"/users/{id}\"} 2448.0\n"));
    EXPECT_THAT(
        all, HasSubstr(
                 "request_body_size_bytes_bucket{site=\"\",route=\"/users/{id}\",le=\"0.0\"} 4\n"));
}

TEST_F(RequestMetricsTest, TheHeadMayLeaveLongBeforeTheEnd) {
    const Request request;
    add_loop().count(
        {.request = &request, .status = 200, .duration = 1h, .head = 6ms, .matched = &get_});
    const std::string head =
        "\ntiderace_http_response_head_seconds_bucket{site=\"\",route=\"/users/{id}\",le=";
    EXPECT_THAT(page(), HasSubstr(head + "\"0.005\"} 0\n"));
    EXPECT_THAT(page(), HasSubstr(head + "\"0.01\"} 1\n"));
}

TEST_F(RequestMetricsTest, WhatRulesAndTheProtocolRefuseIsCountedByItsReason) {
    LoopMetrics& loop = add_loop();
    LoopMetrics& other = add_loop();
    const Request request;
    AccessRecord record{.request = &request, .status = 429, .matched = &get_};
    loop.count(record);
    record.turned_away = wire::TurnedAway::rate;
    loop.count(record);
    other.count(record);
    record.turned_away = wire::TurnedAway::credentials;
    record.matched = &other_host_;
    loop.count(record);
    loop.count({.request = &request, .status = 400, .refusal = wire::Refusal::bare_cr});
    other.count({.request = &request, .status = 400, .refusal = wire::Refusal::two_hosts});
    const std::string all = page();
    EXPECT_THAT(all,
                HasSubstr("\ntiderace_rate_limited_total{site=\"\",route=\"/users/{id}\"} 2\n"));
    EXPECT_THAT(
        all,
        HasSubstr("\ntiderace_auth_failures_total{site=\"a.example\",route=\"/users/{id}\"} 1\n"));
    EXPECT_THAT(all, HasSubstr("\ntiderace_http_request_refusals_total{reason=\"bare_cr\"} 1\n"));
    EXPECT_THAT(all, HasSubstr("\ntiderace_http_request_refusals_total{reason=\"two_hosts\"} 1\n"));
}

// A counter that falls looks like a new start, and what it had would be counted twice.
TEST_F(RequestMetricsTest, TheBytesOfASiteOutliveItsRoutes) {
    LoopMetrics& loop = add_loop();
    Site site;
    site.name_of_others = "small";
    for (const char* path : {"/a", "/b"}) {
        ASSERT_TRUE(site.add({.pattern = path, .method = wire::Method::get, .make = {}}));
    }
    const auto series = loop.learn(site);
    const Matched a{"/a", series.at(0)};
    const Matched b{"/b", series.at(1)};
    for (int i = 0; i < 3; ++i) count(loop, "GET", &a, 200);
    count(loop, "GET", &b, 200);
    count(loop, "GET", &other_host_, 200);
    const auto sent = [](int bytes) {
        return HasSubstr("\ntiderace_http_response_body_bytes_total{site=\"small\"} " +
                         std::to_string(bytes) + "\n");
    };
    EXPECT_THAT(page(), sent(4 * 612));
    loop.forget(std::vector<std::uint32_t>{a.series});
    EXPECT_THAT(page(), sent(4 * 612));
    loop.forget(std::vector<std::uint32_t>{b.series});
    EXPECT_THAT(page(), Not(HasSubstr("\"small\"")));
    EXPECT_THAT(page(), HasSubstr("{site=\"a.example\"} 612\n"));
}

TEST_F(RequestMetricsTest, InFlightIsWhatHasNoAnswerYet) {
    testing::FakeWorld world;
    std::vector<core::Ref<Exchange>> held;
    class Keeper final : public Handler {
      public:
        explicit Keeper(std::vector<core::Ref<Exchange>>& all) : held(&all) {}
        void handle(Exchange& exchange) override { held->push_back(exchange.defer()); }
        std::vector<core::Ref<Exchange>>* held;
    } keeper(held);
    SiteLoop loop(keeper);
    loop.set_metrics(metrics_.add_loop());
    EXPECT_TRUE(loop.logs());
    const auto gauge = [&] {
        const std::string all = page();
        const std::string name = "\ntiderace_http_requests_in_flight{site=\"\"} ";
        return all.substr(all.find(name) + name.size(), 1);
    };
    for (int i = 0; i < 3; ++i) {
        const auto one = core::make_ref<RecordedExchange>(world.loop(), "GET", "/");
        loop.serve(*one);
        if (i == 0) one->hang_up();
    }
    EXPECT_EQ(gauge(), "2");
    held.clear();
    EXPECT_EQ(gauge(), "0");
}

std::string page_of(const ServerMetrics& metrics, const metrics::Labels& build = {}) {
    metrics::Page page(metrics::PageFormat::prometheus);
    metrics.add_to(page, build);
    return std::move(page).take();
}

TEST(ServerMetrics, ConnectionsOfAllServersAreSummedUp) {
    ServerMetrics metrics;
    for (std::uint64_t opened : {5U, 2U}) {
        auto counters = std::make_shared<net::TcpServerCounters>();
        counters->opened = opened;
        counters->refused = 1;
        counters->closed[static_cast<std::size_t>(net::CloseReason::peer_finished)] = 2;
        metrics.add_server(counters);
    }
    const std::string all = page_of(metrics);
    EXPECT_THAT(all, HasSubstr("\ntiderace_connections_accepted_total 7\n"));
    EXPECT_THAT(all, HasSubstr("\ntiderace_connections_open 3\n"));
    EXPECT_THAT(all, HasSubstr("closed_total{reason=\"peer_finished\"} 4\n"));
    EXPECT_THAT(all, HasSubstr("refused_total{reason=\"limit\"} 2\n"));
}

TEST(ServerMetrics, TheBuildHasWhatItsFrontKnows) {
    EXPECT_THAT(page_of({}), HasSubstr("\ntiderace_build_info{version=\""));
    EXPECT_THAT(page_of({}, {{"engine", "epoll"}}), HasSubstr("\",engine=\"epoll\"} 1\n"));
}

TEST(LagProbe, MeasuresHowLateTimersAre) {
    testing::FakeWorld world;
    SiteMetrics metrics;
    {
        LagProbe probe(world.loop(), metrics.add_loop());
        world.advance(10s);
    }
    metrics::Page page(metrics::PageFormat::prometheus);
    metrics.add_to(page);
    const std::string all = std::move(page).take();
    EXPECT_THAT(all, HasSubstr("\ntiderace_loop_lag_seconds_count "));
    EXPECT_THAT(all, Not(HasSubstr("\ntiderace_loop_lag_seconds_count 0\n")));
}

TEST(LagProbe, MeasuresTheThreadsCpuTime) {
    if (metrics::own_thread_cpu() == Duration::zero()) GTEST_SKIP() << "not on this system";
    testing::FakeWorld world;
    SiteMetrics metrics;
    const auto busy = [&] {
        metrics::Page page(metrics::PageFormat::prometheus);
        metrics.add_to(page);
        const std::string all = std::move(page).take();
        const std::string name = "\ntiderace_loop_busy_ratio{loop=\"0\"} ";
        const std::size_t at = all.find(name);
        return at == all.npos ? -1 : std::stod(all.substr(at + name.size()));
    };
    LagProbe probe(world.loop(), metrics.add_loop());
    world.advance(300ms);
    EXPECT_EQ(busy(), -1) << "there is nothing to compare with";
    // The world's time stands still meanwhile, so that this fills the time until the next look.
    for (const Duration begin = metrics::own_thread_cpu();
         metrics::own_thread_cpu() - begin < 300ms;) {
    }
    world.advance(300ms);
    EXPECT_GT(busy(), 0.5);
    world.advance(1h);
    EXPECT_LT(busy(), 0.5);
}

}  // namespace
}  // namespace tiderace::http

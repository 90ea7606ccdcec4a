#include "tiderace/http/site.h"

#include <gtest/gtest.h>

#include "tiderace/http/site_loop.h"
#include "tiderace/task/runner.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http {
namespace {

using testing::RecordedExchange;

// Endpoints, rules and filters that write down what they saw.
class SiteTest : public ::testing::Test {
  protected:
    class Answering final : public Handler {
      public:
        Answering(std::string& steps, std::string name) : steps_(&steps), name_(std::move(name)) {}
        void handle(Exchange& exchange) override {
            *steps_ += name_;
            const route::Parameters& parameters = exchange.parameters();
            for (std::size_t i = 0; i < parameters.count; ++i) {
                steps_->append("(").append(parameters.of(exchange.request().path, i)).append(")");
            }
            exchange.respond_status(200);
        }

      private:
        std::string* steps_;
        std::string name_;
    };
    class Marking final : public AccessRule, public ResponseFilter {
      public:
        Marking(std::string& steps, std::string name) : steps_(&steps), name_(std::move(name)) {}
        Verdict check(Exchange&) override {
            *steps_ += name_ + "> ";
            return Verdict::pass;
        }
        void filter(Exchange&, Response&) override { *steps_ += " <" + name_; }

      private:
        std::string* steps_;
        std::string name_;
    };

    Site::Endpoint endpoint(std::string pattern, std::uint32_t scope, std::string name) {
        return {.pattern = std::move(pattern),
                .method = wire::Method::get,
                .scope = scope,
                .make = [this, name](LayerPlace&) {
                    return std::make_shared<Answering>(steps_, name);
                }};
    }
    Setting marking(std::string name, void (*change)(Layer&) = [](Layer&) {}) {
        return {.make = [this, name, change](LayerPlace&) {
            Layer layer(std::make_shared<Marking>(steps_, name));
            change(layer);
            return layer;
        }};
    }
    static void filter_alone(Layer& layer) { layer.rule = nullptr; }
    std::string ask(std::string_view path, std::string_view method = "GET",
                    ByteView authority = "localhost") {
        if (!loop_) {
            loop_.emplace(all_, place_);
            EXPECT_FALSE(place_.fault);
        }
        steps_.clear();
        const auto exchange = core::make_ref<RecordedExchange>(world_.loop(), method, path);
        exchange->set_authority(authority);
        loop_->serve(*exchange);
        return std::to_string(exchange->status()) + " " + steps_;
    }

    testing::FakeWorld world_;
    std::string steps_;
    const std::shared_ptr<Site> all_ = std::make_shared<Site>();
    Site& site_ = *all_;
    task::Runner runner_{world_.loop()};
    States states_;
    LayerPlace place_{world_.loop(), nullptr, runner_, states_};
    std::optional<SiteLoop> loop_;
};

TEST_F(SiteTest, RulesRunFromTheOutsideInAndFiltersFromTheInsideOut) {
    site_.scope(0).settings = {marking("all"), marking("also")};
    const std::uint32_t api = site_.add_scope(0, "/api");
    site_.scope(api).settings = {marking("api")};
    ASSERT_TRUE(site_.add(endpoint("/api/{id}/x/{rest...}", api, "x")));
    ASSERT_TRUE(site_.add(endpoint("/", 0, "top")));
    EXPECT_EQ(ask("/api/7/x/a/b"), "200 all> also> api> x(7)(a/b) <api <also <all");
    EXPECT_EQ(ask("/"), "200 all> also> top <also <all");
    EXPECT_EQ(ask("/api/7/x/", "POST"), "405 all> also> api>  <api <also <all");
    EXPECT_EQ(ask("/api/7"), "404 all> also>  <also <all");
}

TEST_F(SiteTest, WhatIsCalledBeforeTheMatchMayChangeWhoseRequestItIs) {
    RouteMatch match{.remote = {*net::Network::parse("192.0.2.0/24")}};
    Site::Endpoint inner = endpoint("", 0, "near");
    const std::uint32_t near = site_.add_for_routes(std::move(inner));
    const std::uint32_t scope = site_.add_scope(0, "");
    site_.scope(scope).is_of_routes = true;
    Site::Endpoint all = endpoint("", 0, "all");
    all.is_prefix = true;
    all.routes = std::make_shared<const SiteRoutes>(
        std::vector{SiteRoutes::Route{.match = match, .scope = scope, .endpoint = near}});
    site_.before_match = [](Exchange& exchange) {
        exchange.set_client(*core::Address::parse("192.0.2.1:1"), false);
    };
    ASSERT_TRUE(site_.add(std::move(all)));
    EXPECT_EQ(ask("/in"), "200 near(in)") << "\"all\" is what other clients get";
}

TEST_F(SiteTest, ALayerSaysWhereItStands) {
    site_.scope(0).settings = {marking("all"),
                               marking("last", [](Layer& layer) { layer.goes_last = true; })};
    site_.scope(0).error_pages = marking("page", filter_alone).make;
    site_.before_all = marking("proxy").make;
    const std::uint32_t in = site_.add_scope(0, "/in");
    site_.scope(in).settings = {marking("in"),
                                marking("first", [](Layer& layer) { layer.goes_first = true; })};
    site_.scope(in).error_pages = marking("own", filter_alone).make;
    ASSERT_TRUE(site_.add(endpoint("/in", in, "x")));
    EXPECT_EQ(ask("/in"), "200 proxy> first> all> last> in> x <own <page <first <in <all <last");
    const std::uint32_t health = site_.add_scope(0, "");
    site_.scope(health).asks_nobody = true;
    const std::uint32_t apart = site_.add_scope(0, "/apart");
    site_.scope(apart).parent = Site::no_scope;
    site_.scope(0).settings.push_back(
        marking("password", [](Layer& layer) { layer.authenticates = true; }));
    ASSERT_TRUE(site_.add(endpoint("/health", health, "up")));
    ASSERT_TRUE(site_.add(endpoint("/apart", apart, "apart")));
    loop_.reset();
    EXPECT_EQ(ask("/health"), "200 proxy> up <page <password <all <last");
    EXPECT_FALSE(loop_->chain_of(health).authenticates);
    EXPECT_TRUE(loop_->chain_of(in).authenticates);
    EXPECT_EQ(ask("/apart"), "200 proxy> apart");
}

TEST_F(SiteTest, AHostWithEndpointsHasNoOthers) {
    const auto on = [&](std::string name) {
        const std::uint32_t scope = site_.add_scope(0, "");
        site_.scope(scope).host = site_.host(name);
        ASSERT_TRUE(site_.add(endpoint("/", scope, name)));
    };
    ASSERT_TRUE(site_.add(endpoint("/", 0, "any")));
    ASSERT_TRUE(site_.add(endpoint("/rest", 0, "any")));
    for (const char* name : {"a.example", "*.example", "*.b.example"}) on(name);
    EXPECT_EQ(ask("/", "GET", "A.example:80"), "200 a.example");
    EXPECT_EQ(ask("/", "GET", "c.example"), "200 *.example");
    EXPECT_EQ(ask("/", "GET", "c.b.example"), "200 *.b.example");
    EXPECT_EQ(ask("/", "GET", "example"), "200 any");
    EXPECT_EQ(ask("/", "GET", "[::1]:80"), "200 any");
    EXPECT_EQ(ask("/rest", "GET", "a.example"), "404 ");
    EXPECT_EQ(ask("/", "GET", ".example"), "200 any") << "no name of a host";
    EXPECT_EQ(ask("/", "GET", "x.y.z.B.example."), "200 *.b.example");
    EXPECT_EQ(ask("/", "GET", std::string(250, 'a') + ".b.example"), "200 any") << "too long";
}

TEST_F(SiteTest, AHostMayHaveManyNames) {
    const std::uint32_t scope = site_.add_scope(0, "");
    const std::uint32_t host = site_.host("a.example");
    site_.scope(scope).host = host;
    ASSERT_TRUE(site_.add(endpoint("/", scope, "a")));
    ASSERT_TRUE(site_.add(endpoint("/", 0, "any")));
    EXPECT_TRUE(site_.add_name(host, "WWW.a.example"));
    EXPECT_TRUE(site_.add_name(host, "*.b.example"));
    EXPECT_FALSE(site_.add_name(host, "www.A.example")) << "it has a host";
    EXPECT_EQ(site_.host("x.example"), host + 1);
    EXPECT_EQ(ask("/", "GET", "www.a.example"), "200 a");
    EXPECT_EQ(ask("/", "GET", "c.b.example:8080"), "200 a");
    EXPECT_EQ(ask("/", "GET", "b.example"), "200 any");
}

TEST_F(SiteTest, AMountedSiteKeepsItsScopesBelowThePrefix) {
    Site inner;
    inner.scope(0).settings = {marking("inner")};
    const std::uint32_t deep = inner.add_scope(0, "/deep");
    inner.scope(deep).settings = {marking("deep")};
    ASSERT_TRUE(inner.add(endpoint("/", 0, "top")));
    ASSERT_TRUE(inner.add(endpoint("/deep/{id}", deep, "x")));
    site_.scope(0).settings = {marking("outer")};
    ASSERT_TRUE(site_.add(endpoint("/taken", 0, "taken")));
    ASSERT_TRUE(site_.mount(site_.add_scope(0, "/shop"), std::move(inner)));
    EXPECT_EQ(ask("/shop"), "200 outer> inner> top <inner <outer");
    EXPECT_EQ(ask("/shop/deep/7"), "200 outer> inner> deep> x(7) <deep <inner <outer");
    Site again;
    ASSERT_TRUE(again.add(endpoint("/taken", 0, "again")));
    EXPECT_FALSE(site_.mount(site_.add_scope(0, ""), std::move(again)));
}

// What cannot be made on a loop keeps it from serving.
TEST_F(SiteTest, TheFirstFaultOfALoopIsKept) {
    const auto refuse = [](const char* what) {
        return [what](LayerPlace& place) {
            place.refuse(Error(0, "open", what));
            return Layer();
        };
    };
    site_.scope(0).settings = {{.make = refuse("first")}, {.make = refuse("second")}};
    loop_.emplace(all_, place_);
    ASSERT_TRUE(place_.fault);
    EXPECT_NE(place_.fault->message().find("first"), std::string::npos);
}

TEST_F(SiteTest, WhatWasAddedToALoopHoldsForTheSitesThatReplaceItsFirst) {
    struct Counting final : AccessLog {
        void write(const AccessRecord&) override { ++count; }
        int count = 0;
    } own, otherwise;
    Marking added(steps_, "added");
    site_.scope(0).settings = {marking("one")};
    ASSERT_TRUE(site_.add(endpoint("/", 0, "1")));
    EXPECT_EQ(ask("/"), "200 one> 1 <one");
    loop_->add(static_cast<AccessRule&>(added));
    loop_->add(static_cast<ResponseFilter&>(added));
    loop_->set_log(&otherwise, [&](const AccessLogTarget&) { return &own; });
    const auto next = std::make_shared<Site>();
    next->scope(0).settings = {
        marking("two"),
        {.access_log = std::make_shared<const AccessLogTarget>(AccessLogTarget{.path = "x"})}};
    ASSERT_TRUE(next->add(endpoint("/", 0, "2")));
    ASSERT_TRUE(loop_->replace(next, place_));
    EXPECT_EQ(ask("/"), "200 two> added> 2 <two <added");
    const auto request = core::make_ref<testing::RecordedExchange>(world_.loop(), "GET", "/");
    EXPECT_EQ(loop_->chain_of(request->request()).log, &own) << "asked for again";
}

TEST_F(SiteTest, ASiteThatCannotBeMadeReplacesNone) {
    ASSERT_TRUE(site_.add(endpoint("/", 0, "1")));
    EXPECT_EQ(ask("/"), "200 1");
    const auto next = std::make_shared<Site>();
    next->scope(0).settings = {{.make = [](LayerPlace& place) {
        place.refuse(Error(0, "open", "no such file"));
        return Layer();
    }}};
    ASSERT_TRUE(next->add(endpoint("/", 0, "2")));
    const auto replaced = loop_->replace(next, place_);
    ASSERT_FALSE(replaced);
    EXPECT_NE(replaced.error().message().find("no such file"), std::string::npos);
    EXPECT_EQ(ask("/"), "200 1");
    EXPECT_EQ(next.use_count(), 1);
}

}  // namespace
}  // namespace tiderace::http

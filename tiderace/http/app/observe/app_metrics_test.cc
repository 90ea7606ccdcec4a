#include "tiderace/http/app/observe/app_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tiderace/app.h"
#include "tiderace/http/app/app_fixture.h"

namespace tiderace::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AppMetricsTest : public AppTest {
  protected:
    std::string page() { return body_of(get("/metrics")); }
    static std::string requests(const std::string& route, const std::string& method, int code,
                                int count) {
        return "\ntiderace_http_requests_total{site=\"\",route=\"" + route + "\",method=\"" +
               method + "\",code=\"" + std::to_string(code) + "\",protocol=\"1.1\"} " +
               std::to_string(count) + "\n";
    }
};

TEST_F(AppMetricsTest, EachAnswerIsCountedOnce) {
    app.metrics("/metrics");
    app.get<"/users/{id}">([](int) { return "ann\n"; });
    app.get<"/throws">([]() -> std::string { throw 7; });
    app.get<"/late">([]() -> Task<std::string> {
        co_await task::sleep(1s);
        co_return "";
    });
    for (int i = 0; i < 5; ++i) get("/users/" + std::to_string(i));
    ask("HEAD", "/users/7");
    ask("POST", "/users/7");
    get("/users/x");
    get("/throws");
    get("/late");
    for (int i = 0; i < 3; ++i) get("/absent/" + std::to_string(i));
    const std::string all = page();
    EXPECT_THAT(all, HasSubstr(requests("/users/{id}", "GET", 200, 5)));
    EXPECT_THAT(all, HasSubstr(requests("/users/{id}", "HEAD", 200, 1)));
    EXPECT_THAT(all, HasSubstr(requests("/users/{id}", "GET", 400, 1)));
    EXPECT_THAT(all, HasSubstr(requests("/throws", "GET", 500, 1)));
    EXPECT_THAT(all, HasSubstr(requests("/late", "GET", 200, 1)));
    EXPECT_THAT(all, HasSubstr(requests("", "POST", 405, 1)));
    EXPECT_THAT(all, HasSubstr(requests("", "GET", 404, 3)));
    EXPECT_THAT(all, HasSubstr("\ntiderace_http_requests_in_flight{site=\"\"} 1\n"))
        << "the page's own";
    EXPECT_THAT(all, HasSubstr("\nprocess_cpu_seconds_total "));
}

TEST_F(AppMetricsTest, TheProgramHasItsOwn) {
    metrics::Counter& sold = app.metrics("/metrics").counter("sold_total", "Sold.");
    app.get<"/sell">([&sold] { sold.add(3); });
    get("/sell");
    get("/sell");
    EXPECT_THAT(page(), HasSubstr("# TYPE sold_total counter\nsold_total 6\n"));
}

TEST_F(AppMetricsTest, OpenMetricsWhereItIsAskedFor) {
    app.metrics("/metrics");
    EXPECT_THAT(get("/metrics"),
                HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8"));
    const std::string open =
        ask("GET", "/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
    EXPECT_THAT(open, HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0"));
    EXPECT_TRUE(open.ends_with("# EOF\n"));
}

TEST_F(AppMetricsTest, MiddlewareGuardsThePage) {
    app.metrics("/metrics", {[] { return std::optional<Problem>(Problem{.status = 403}); }});
    EXPECT_EQ(status_of(get("/metrics")), "403");
}

TEST(AppMetricsFault, AMountedAppHasNone) {
    App inner;
    inner.metrics("/metrics");
    App outer;
    outer.mount("/inner", std::move(inner));
    EXPECT_THAT(outer.fault(), HasSubstr("mount /inner: metrics() is for the App that serves"));
}

}  // namespace
}  // namespace tiderace::http

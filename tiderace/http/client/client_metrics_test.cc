#include "tiderace/http/client/client_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tiderace/http/client/client_fixture.h"
#include "tiderace/metrics/metrics.h"

namespace tiderace::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ClientMetricsTest : public ClientTest {
  protected:
    std::string page() const { return registry.page(metrics::PageFormat::prometheus); }
    static std::string line(const std::string& name, int value) {
        return "\ntiderace_upstream_" + name + "{upstream=\"shop\"} " + std::to_string(value) +
               "\n";
    }

    metrics::Registry registry;
};

TEST_F(ClientMetricsTest, ClientsOfOneNameAreSummedUp) {
    std::optional<ClientMetrics> upstreams(std::in_place, registry);
    EXPECT_THAT(page(), Not(HasSubstr("tiderace_upstream"))) << "no client yet";
    ClientTestServer server(world);
    server.say(ok("hello"));
    upstreams->add("shop", make());
    Client other(nullptr, {.proxy_from_environment = false});
    upstreams->add("shop", other);
    upstreams->add("idle \"one\"", other);
    upstreams.reset();  // what was added stays
    for (int i = 0; i < 3; ++i) EXPECT_EQ(get(server.url), "200 hello");
    EXPECT_THAT(page(), HasSubstr(line("connections_opened_total", 1)));
    EXPECT_THAT(page(), HasSubstr(line("connections_reused_total", 2)));
    EXPECT_THAT(page(), HasSubstr(line("connections_open", 1)));
    EXPECT_THAT(page(), HasSubstr(line("queue_length", 0)));
    EXPECT_THAT(page(), HasSubstr("{upstream=\"idle \\\"one\\\"\"} 0\n"));
    server.sessions.on_data = [](net::Connection& connection, ByteView data) {
        connection.close(net::CloseReason::aborted);
        return data.size();
    };
    EXPECT_TRUE(ask(ClientRequest("POST", server.url).content("x")).starts_with("! "));
    EXPECT_THAT(page(), HasSubstr(line("connections_open", 0)));
    client.reset();
    EXPECT_THAT(page(), HasSubstr(line("connections_opened_total", 1))) << "it goes on";
}

TEST_F(ClientMetricsTest, WaitingAndRetriesAreCounted) {
    const ClientMetrics upstreams(registry);
    ClientTestServer server(world);
    upstreams.add("shop",
                  make({.timeout = 10s,
                        .pool = {.connections_per_host_max = 1},
                        .retry = {.attempts_max = 2, .budget_percent = 0, .budget_max = 1}}));
    const auto first = begin(ClientRequest("GET", server.url));
    const auto second = begin(ClientRequest("GET", server.url));
    world.settle();
    EXPECT_THAT(page(), HasSubstr(line("queue_length", 1)));
    world.advance(11s);
    EXPECT_THAT(page(), HasSubstr(line("queue_length", 0)));
    server.say("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n");
    for (int i = 0; i < 2; ++i) EXPECT_EQ(get(server.url), "503 ");
    EXPECT_THAT(page(), HasSubstr(line("retries_total", 1)));
    EXPECT_THAT(page(), HasSubstr(line("retry_budget_exhausted_total", 1)));
}

}  // namespace
}  // namespace tiderace::http

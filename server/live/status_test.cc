#include "server/live/status.h"

#include <gtest/gtest.h>

#include "server/version.h"

namespace tiderace::server {
namespace {

ServerStatus busy() {
    return {.uptime = 26h + 3min + 4s + 900ms,
            .loops = 2,
            .sites = {"one.example", "default"},
            .listeners = {"127.0.0.1:8080", "/run/\x1b\"q\".sock"},
            .connections = 12,
            .requests = {{.in_flight = 3, .answered = {{"", 1}, {"one.example", 41}}}},
            .metrics = "127.0.0.1:9100",
            .certificates = {{"/etc/a.pem", 41}, {"/etc/b.pem", -1}},
            .generation = 7,
            .generations_alive = 2,
            .last_reload = Reloader::Last{.at = 1'700'000'000, .problems = "line 3\nline 5\n"}};
}

TEST(Status, IsJsonForPrograms) {
    EXPECT_EQ(status_json(busy()),
              "{\"version\":\"" + std::string(version()) +
                  R"(","uptime_seconds":93784,"loops":2,"sites":["one.example","default"],)"
                  R"("listeners":["127.0.0.1:8080","/run/\u001b\"q\".sock"],"connections":12,)"
                  R"("requests":{"in_flight":3,"answered":{"":1,"one.example":41}},)"
                  R"("metrics":"127.0.0.1:9100",)"
                  R"("certificates":[{"file":"/etc/a.pem","days_left":41},)"
                  R"({"file":"/etc/b.pem","days_left":-1}],"generation":7,"generations_alive":2,)"
                  R"("last_reload":{"at":"2023-11-14T22:13:20Z","done":false,)"
                  R"("problems":"line 3\nline 5\n"}})"
                  "\n");
    EXPECT_TRUE(status_json({}).ends_with(
        "\"requests\":null,\"metrics\":null,\"certificates\":[],\"generation\":1,"
        "\"generations_alive\":1,\"last_reload\":null}\n"))
        << status_json({});
}

TEST(Status, IsLinesForPeople) {
    EXPECT_EQ(status_lines(busy()), "version       " + std::string(version()) +
                                        R"(
uptime        1d 2h 3m 4s
loops         2
sites         2: one.example, default
listeners     2: 127.0.0.1:8080, /run/?"q".sock
connections   12
requests      42, 3 in flight
metrics       http://127.0.0.1:9100/metrics
certificate   /etc/a.pem: 41 days left
certificate   /etc/b.pem: expired 1 day ago
generation    7, 2 alive
last reload   2023-11-14T22:13:20Z, refused
line 3
line 5
)");
}

TEST(Status, IsNumbersForRates) {
    EXPECT_EQ(status_numbers(busy()),
              "uptime_us 93784900000\nin_flight 3\nanswered 1 \nanswered 41 one.example\n");
    EXPECT_EQ(status_numbers({}), "uptime_us 0\n");
}

TEST(Status, OfManySitesNamesSome) {
    ServerStatus status;
    for (char c = 'a'; c < 'm'; ++c) status.sites.emplace_back(1, c);
    EXPECT_NE(status_lines(status).find("sites         12: a, b, c, d, e, f, g, h and 4 more\n"),
              std::string::npos);
    EXPECT_NE(status_lines(status).find("uptime        0s\n"), std::string::npos);
    EXPECT_TRUE(status_lines(status).ends_with("last reload   none\n"));
}

}  // namespace
}  // namespace tiderace::server

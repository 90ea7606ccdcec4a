#include "server/config/restart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tiderace::server::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> of(void (*change)(ServeOptions&)) {
    ServeOptions now;
    change(now);
    return changes_that_need_a_restart({}, now);
}

TEST(Restart, WhatIsMadeOnceIsNamedByItsKey) {
    EXPECT_THAT(of([](ServeOptions& now) { now.threads = 3; }),
                ElementsAre("server.threads has another value: it needs a restart"));
    EXPECT_THAT(of([](ServeOptions& now) {
                    now.user = "www-data";
                    now.engine = "io_uring";
                    now.accept = AcceptMode::queue;
                    now.backlog = 9;
                }),
                ElementsAre("server.engine has another value: it needs a restart",
                            "server.accept has another value: it needs a restart",
                            "server.user has another value: it needs a restart",
                            "listen.backlog has another value: it needs a restart"));
    EXPECT_THAT(of([](ServeOptions& now) { now.tls.certificates = {{"a.pem", "b.pem"}}; }),
                ElementsAre("[tls], on or off, has another value: it needs a restart"));
}

TEST(Restart, AllElseNeedsNone) {
    EXPECT_THAT(of([](ServeOptions& now) {
                    now.about = true;
                    now.access_log = "/var/log/t";
                    now.cgi.timeout = 5s;
                    now.listen = {"127.0.0.1:9"};
                    now.timeouts.idle = now.timeouts.drain = 3s;
                    now.limits.head_bytes_max = 9'000;
                    now.http2 = Http2::off;
                    now.backlog = 9;
                    now.log_rotate_bytes = 9;
                    now.log_level = LogLevel::debug;
                    now.server_header = false;
                    now.mime_additions = {{"x", "text/x"}};
                    now.connections_max = 5;
                    now.limits.send_bytes_max = 8'000'000;
                    now.cache.bytes_max = 5;
                    now.compress.folder = "/var/cache/t";
                    now.log_flush_interval = 5s;
                    now.cgi.programs_max = 5;
                    now.admin_socket = "/run/t.sock";
                    now.admin_mode = 0660;
                }),
                IsEmpty());
}

}  // namespace
}  // namespace tiderace::server::config

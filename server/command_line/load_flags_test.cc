#include "server/command_line/load_flags.h"

#include <gtest/gtest.h>

#include "server/command_line/apply_flag.h"
#include "server/command_line/load_command_line.h"

namespace tiderace::server {
namespace {

std::expected<load::LoadOptions, std::string> with(std::string_view name, std::string_view value) {
    load::LoadOptions options;
    for (const LoadFlag& flag : load_flags()) {
        if (flag.text.name != name) continue;
        if (auto applied = apply_flag(flag, value, options); !applied) {
            return std::unexpected(applied.error());
        }
        return options;
    }
    return std::unexpected("no such flag");
}

TEST(LoadFlags, ReachTheirFields) {
    EXPECT_EQ(with("connections", "7")->connections, 7U);
    EXPECT_EQ(with("duration", "3s")->duration, 3s);
    EXPECT_EQ(with("requests", "9")->requests, 9U);
    EXPECT_EQ(with("rate", "1000")->rate, 1'000U);
    EXPECT_EQ(with("method", "HEAD")->method, "HEAD");
    EXPECT_EQ(with("method", "PATCH")->method, "PATCH");
    EXPECT_EQ(with("http", "1.0")->http, load::LoadHttp::v1_0);
    EXPECT_EQ(with("http", "2")->http, load::LoadHttp::v2);
    EXPECT_EQ(with("body", "x.json")->body_file, "x.json");
    EXPECT_EQ(with("body-size", "3KiB")->body_bytes, 3_KiB);
    EXPECT_EQ(with("ramp", "10s")->ramp, 10s);
    EXPECT_EQ(with("streams", "100")->streams, 100U);
    EXPECT_TRUE(with("insecure", "")->insecure);
    EXPECT_TRUE(with("resume", "")->resume);
    EXPECT_EQ(with("ca", "x.pem")->ca, "x.pem");
    EXPECT_EQ(with("processes", "3")->processes, 3U);
    EXPECT_EQ(with("slow-senders", "10")->slow_senders, 10U);
    EXPECT_EQ(with("slow-send-rate", "1KiB")->slow_send_rate, 1_KiB);
    EXPECT_EQ(with("slow-drips", "body")->slow_drips, load::LoadSlowPart::body);
    EXPECT_TRUE(with("close", "")->close);
    EXPECT_EQ(with("pipeline", "16")->pipeline, 16U);
    EXPECT_EQ(with("think", "5ms")->think, 5ms);
    EXPECT_EQ(with("slow-readers", "10")->slow_readers, 10U);
    EXPECT_EQ(with("slow-rate", "1KiB")->slow_rate, 1_KiB);
    EXPECT_EQ(with("source-addresses", "16")->source_addresses, 16U);
    EXPECT_EQ(with("timeout", "1s")->timeout, 1s);
    EXPECT_TRUE(with("i-own-this-host", "")->i_own_this_host);
    EXPECT_EQ(with("expect-status", "404")->expect_status, 404U);
    EXPECT_EQ(with("expect-length", "0")->expect_length, 0U);
    EXPECT_EQ(with("threads", "2")->threads, 2U);
    EXPECT_EQ(with("engine", "poll")->engine, "poll");
    EXPECT_EQ(with("server-pid", "42")->server_pid, 42U);
    EXPECT_TRUE(with("json", "")->json);
}

TEST(LoadFlags, HashesAreEightDigitsOrTheFirstOnes) {
    EXPECT_TRUE(with("check-hash", "first")->check_hash);
    EXPECT_FALSE(with("check-hash", "first")->expect_hash);
    EXPECT_EQ(with("check-hash", "0000beef")->expect_hash, 0xbeefU);
    for (const std::string_view value : {"beef", "0x00beef", "0000beeg", ""}) {
        EXPECT_FALSE(with("check-hash", value)) << value;
    }
}

TEST(LoadFlags, FieldsCannotChangeHowTheRequestIsRead) {
    EXPECT_EQ(with("header", "Accept: a/b ")->fields, std::vector<std::string>{"Accept: a/b"});
    for (const std::string_view value :
         {"Accept", "A b: c", ": c", "A: b\r\nC: d", "Host: a\r\nb", "connection:close",
          "Content-Length: 1", "Transfer-Encoding: chunked"}) {
        EXPECT_FALSE(with("header", value)) << value;
    }
}

TEST(LoadFlags, AHostIsSetOnce) {
    EXPECT_EQ(with("header", "host: a.example ")->host, "a.example");
    EXPECT_TRUE(with("header", "host: a.example")->fields.empty());
    const std::vector<std::string_view> words{"-H", "Host: a", "-H", "Host: b", "http://[::1]/"};
    EXPECT_FALSE(parse_load_command_line(words));
}

TEST(LoadFlags, NumbersEndAtTheirLimits) {
    EXPECT_FALSE(with("connections", "0"));
    EXPECT_FALSE(with("pipeline", "0"));
    EXPECT_FALSE(with("slow-readers", "101"));
    EXPECT_FALSE(with("slow-senders", "101"));
    EXPECT_FALSE(with("processes", "0"));
    EXPECT_FALSE(with("streams", "0"));
    EXPECT_FALSE(with("http", "3"));
    EXPECT_FALSE(with("expect-status", "100"));
    EXPECT_FALSE(with("expect-length", "-1"));
}

}  // namespace
}  // namespace tiderace::server

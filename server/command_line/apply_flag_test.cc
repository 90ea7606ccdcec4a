#include "server/command_line/apply_flag.h"

#include <gtest/gtest.h>

#include "server/command_line/flag_fixture.h"

namespace tiderace::server {
namespace {

TEST(ApplyFlag, TakeTheirOwnDefaultBack) {
    for (const ServeFlag& each : serve_flags()) {
        std::string text = default_of(each);
        if (text.empty() || text == each.text.unset_means) continue;
        text = text.substr(0, text.find(' '));
        ServeOptions options;
        const auto applied = apply_flag(each, text, options);
        EXPECT_TRUE(applied) << each.text.name << " " << text << ": " << applied.error();
        EXPECT_EQ(default_of(each).substr(0, text.size()), text);
    }
}

TEST(ApplyFlag, TellTheirDefaultsWithUnits) {
    EXPECT_EQ(default_of(flag("threads")), "one per CPU");
    EXPECT_EQ(default_of(flag("backlog")), "4096 connections");
    EXPECT_EQ(default_of(flag("idle-timeout")), "1m");
    EXPECT_EQ(default_of(flag("max-line")), "8KiB");
    EXPECT_EQ(default_of(flag("min-send-rate")), "256 bytes/s");
    EXPECT_EQ(default_of(flag("log-rotate")), "never");
    EXPECT_EQ(default_of(flag("accept")), "reuseport");
    EXPECT_EQ(default_of(flag("engine")), "auto");
    EXPECT_EQ(default_of(flag("listen")), "127.0.0.1:8080");
    EXPECT_EQ(default_of(flag("listing")), "");
}

TEST(ApplyFlag, NumbersEndAtTheirLimits) {
    ServeOptions options;
    for (const std::string_view value :
         {"1025", "-1", "+1", "1.5", "", " 1", "1 ", "0x1", "18446744073709551616"}) {
        EXPECT_FALSE(apply_flag(flag("threads"), value, options)) << value;
    }
    for (const std::string_view value : {"63", "1048577", "-1", "", "1.5k"}) {
        EXPECT_FALSE(apply_flag(flag("max-line"), value, options)) << value;
    }
    EXPECT_EQ(options.threads, 0U) << "a refused value changes nothing";
    EXPECT_EQ(options.limits.request_line_bytes_max, 8_KiB);
}

struct Kettle {
    std::optional<std::uint64_t> cups;
    std::optional<Duration> wait = 3s;
};

TEST(ApplyFlag, AnOptionThatIsNotGivenStaysUnset) {
    const Flag<Kettle> cups{
        {.name = "cups", .value = "N", .unset_means = "as it holds"},
        Flag<Kettle>::Count{[](Kettle& o) -> std::optional<std::uint64_t>& { return o.cups; }, 0,
                            9}};
    const Flag<Kettle> wait{
        {.name = "wait", .value = "TIME"},
        Flag<Kettle>::Time{[](Kettle& o) -> std::optional<Duration>& { return o.wait; }}};
    EXPECT_EQ(default_of(cups), "as it holds");
    EXPECT_EQ(default_of(wait), "3s");
    Kettle kettle;
    EXPECT_FALSE(apply_flag(cups, "10", kettle));
    EXPECT_FALSE(kettle.cups) << "a refused value changes nothing";
    EXPECT_TRUE(apply_flag(cups, "0", kettle));
    EXPECT_EQ(kettle.cups, 0U) << "zero is a value like any other";
}

}  // namespace
}  // namespace tiderace::server

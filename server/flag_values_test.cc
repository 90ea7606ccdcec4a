#include "server/flags.h"

#include <gtest/gtest.h>

#include <array>

#include "server/flag_fixture.h"

namespace tiderace::server {
namespace {

TEST(FlagValues, TakeTheirOwnDefaultBack) {
    for (const Flag& each : find_command("serve")->flags) {
        std::string text = default_text(each);
        if (text.empty() || text == each.zero_means) continue;
        text = text.substr(0, text.find(' '));
        ServeOptions options;
        const auto applied = apply_flag(each, text, options);
        EXPECT_TRUE(applied) << each.name << " " << text << ": " << applied.error();
        EXPECT_EQ(default_text(each).substr(0, text.size()), text);
    }
}

TEST(FlagValues, TellTheirDefaultsWithUnits) {
    EXPECT_EQ(default_text(flag("threads")), "one per CPU");
    EXPECT_EQ(default_text(flag("backlog")), "4096 connections");
    EXPECT_EQ(default_text(flag("idle-timeout")), "1m");
    EXPECT_EQ(default_text(flag("max-line")), "8KiB");
    EXPECT_EQ(default_text(flag("min-send-rate")), "256 bytes/s");
    EXPECT_EQ(default_text(flag("log-rotate")), "never");
    EXPECT_EQ(default_text(flag("accept")), "reuseport");
    EXPECT_EQ(default_text(flag("engine")), "auto");
    EXPECT_EQ(default_text(flag("listen")), "127.0.0.1:8080");
    EXPECT_EQ(default_text(flag("listing")), "");
}

TEST(FlagValues, NumbersEndAtTheirLimits) {
    ServeOptions options;
    for (const std::string_view value :
         {"1025", "-1", "+1", "1.5", "", " 1", "1 ", "0x1", "18446744073709551616"}) {
        EXPECT_FALSE(apply_flag(flag("threads"), value, options)) << value;
    }
    for (const std::string_view value : {"63", "1048577", "-1", "", "1.5k"}) {
        EXPECT_FALSE(apply_flag(flag("max-line"), value, options)) << value;
    }
    EXPECT_EQ(options.threads, 0U) << "a refused value changes nothing";
    EXPECT_EQ(options.limits.line_bytes_max, 8_KiB);
}

TEST(FlagValues, ChoicesReadAsASentence) {
    constexpr std::array<std::string_view, 3> three{"a", "b", "c"};
    EXPECT_EQ(join_choices(three), "a, b or c");
    EXPECT_EQ(join_choices(std::span(three).first(2)), "a or b");
    EXPECT_EQ(join_choices(std::span(three).first(1)), "a");
    EXPECT_EQ(join_choices({}), "");
}

}  // namespace
}  // namespace tiderace::server

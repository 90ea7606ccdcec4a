#include "server/command_line/flags.h"

#include <gtest/gtest.h>

#include <set>

#include "server/command_line/flag_fixture.h"
#include "tiderace/log/file_sink.h"

namespace tiderace::server {
namespace {

ServeOptions with(std::string_view name, std::string_view value) {
    ServeOptions options;
    const auto applied = apply_flag(flag(name), value, options);
    EXPECT_TRUE(applied) << name << " " << value << ": " << applied.error();
    return options;
}

TEST(Flags, HaveNamesAndLettersOfTheirOwn) {
    for (const CommandSpec& command : commands()) {
        std::set<std::string_view> names;
        std::set<char> letters;
        for (const FlagHelp& each : command.flags) {
            EXPECT_TRUE(names.insert(each.name).second) << each.name;
            if (each.letter != 0) {
                EXPECT_TRUE(letters.insert(each.letter).second) << each.letter;
            }
        }
        EXPECT_TRUE(names.contains("help")) << command.name;
    }
}

TEST(Flags, AreEachDescribedInOneLine) {
    for (const CommandSpec& command : commands()) {
        for (const FlagHelp& each : command.flags) {
            EXPECT_FALSE(each.about.empty()) << each.name;
            EXPECT_LE(each.about.size(), 80U) << each.name;
            EXPECT_FALSE(each.about.ends_with('.')) << each.name;
            EXPECT_EQ(each.about.find('\n'), std::string_view::npos) << each.name;
        }
    }
}

TEST(Flags, OfOneGroupStandTogether) {
    std::set<Group> seen;
    Group previous = Group::other;
    for (const FlagHelp& each : find_command("serve")->flags) {
        if (each.group != previous) {
            EXPECT_TRUE(seen.insert(each.group).second) << each.name;
        }
        previous = each.group;
    }
}

// The help spells sizes that depend on TLS by hand.
TEST(Flags, SizesThatDependOnTlsAreSpelledAsTheyAre) {
    const auto spelled = [](std::uint64_t plain, std::uint64_t encrypted) {
        return format_bytes(plain) + ", or " + format_bytes(encrypted) + " with TLS";
    };
    EXPECT_EQ(default_of(flag("cache-file-max")), spelled(plain_cache_sizes.memory_file_bytes_max,
                                                          tls_cache_sizes.memory_file_bytes_max));
    EXPECT_EQ(default_of(flag("sendfile-min")),
              spelled(plain_cache_sizes.sendfile_bytes_min, tls_cache_sizes.sendfile_bytes_min));
}

TEST(Flags, SwitchesTurnOnWhatIsOffAndOffWhatIsOn) {
    EXPECT_TRUE(with("open", "").open_browser);
    EXPECT_EQ(with("listing", "").listing, true);
    EXPECT_EQ(with("no-listing", "").listing, false);
    EXPECT_TRUE(with("about", "").about);
    EXPECT_TRUE(with("clean-urls", "").clean_urls);
    EXPECT_TRUE(with("hidden", "").hidden_files);
    EXPECT_TRUE(with("quiet", "").quiet);
    EXPECT_FALSE(with("no-precompressed", "").precompressed);
    EXPECT_FALSE(with("no-server-header", "").server_header);
}

TEST(Flags, CodingsAreAListOrAWord) {
    EXPECT_FALSE(with("compress", "off").compress.codings.any());
    EXPECT_TRUE(with("compress", "auto").compress.codings.br);
    const auto two = with("compress", "zstd,gzip").compress.codings;
    EXPECT_TRUE(two.zstd && two.gzip && !two.br);
    for (const char* value : {"", ",", "gzip,", "GZIP", "auto,gzip", "deflate"}) {
        ServeOptions options;
        EXPECT_FALSE(apply_flag(flag("compress"), value, options)) << value;
    }
    EXPECT_EQ(with("compress-min", "2KiB").compress.bytes_min, 2_KiB);
    EXPECT_EQ(with("compress-max", "1MiB").compress.bytes_max, 1_MiB);
    EXPECT_EQ(with("compress-cache", "/var/cache/x").compress.folder, "/var/cache/x");
}

TEST(Flags, ChoicesSetTheValueOfTheirName) {
    EXPECT_EQ(with("accept", "reuseport").accept, AcceptMode::reuseport);
    EXPECT_EQ(with("accept", "queue").accept, AcceptMode::queue);
    EXPECT_EQ(with("accept", "shared").accept, AcceptMode::shared);
    EXPECT_EQ(with("symlinks", "inside").symlinks, SymlinkPolicy::inside);
    EXPECT_EQ(with("symlinks", "anywhere").symlinks, SymlinkPolicy::anywhere);
    EXPECT_EQ(with("symlinks", "never").symlinks, SymlinkPolicy::never);
    EXPECT_EQ(with("log-format", "common").log_format, LogFormat::common);
    EXPECT_EQ(with("log-format", "combined").log_format, LogFormat::combined);
    EXPECT_EQ(with("log-format", "json").log_format, LogFormat::json);
    EXPECT_EQ(with("log-level", "trace").log_level, LogLevel::trace);
    EXPECT_EQ(with("log-level", "debug").log_level, LogLevel::debug);
    EXPECT_EQ(with("log-level", "info").log_level, LogLevel::info);
    EXPECT_EQ(with("log-level", "warning").log_level, LogLevel::warning);
    EXPECT_EQ(with("log-level", "error").log_level, LogLevel::error);
    EXPECT_EQ(with("log-level", "off").log_level, LogLevel::off);
    EXPECT_EQ(with("engine", "poll").engine, "poll");
    EXPECT_EQ(with("engine", "auto").engine, "auto");
}

TEST(Flags, TimesReachTheirFields) {
    EXPECT_EQ(with("header-timeout", "1s").timeouts.header, 1s);
    EXPECT_EQ(with("body-timeout", "2s").timeouts.body, 2s);
    EXPECT_EQ(with("write-timeout", "3s").timeouts.write, 3s);
    EXPECT_EQ(with("idle-timeout", "off").timeouts.idle, 0s);
    EXPECT_EQ(with("half-closed-timeout", "4s").timeouts.half_closed, 4s);
    EXPECT_EQ(with("half-closed-timeout", "off").timeouts.half_closed, 0s);
    EXPECT_EQ(with("drain-timeout", "500ms").timeouts.drain, 500ms);
    EXPECT_EQ(with("cache-check", "2m").cache.revalidate, 2min);
    EXPECT_EQ(with("log-flush", "10ms").log_flush_interval, 10ms);
}

TEST(Flags, SizesAndCountsReachTheirFields) {
    EXPECT_EQ(with("cache", "0").cache.bytes_max, 0U);
    EXPECT_EQ(with("cache", "off").cache.bytes_max, 0U);
    EXPECT_EQ(with("cache-file-max", "1MiB").cache.memory_file_bytes_max, 1_MiB);
    EXPECT_EQ(with("small-copy-max", "4KiB").cache.small_copy_bytes_max, 4_KiB);
    EXPECT_EQ(with("sendfile-min", "1m").cache.sendfile_bytes_min, 1_MiB);
    EXPECT_EQ(with("log-rotate", "10MB").log_rotate_bytes, 10'000'000U);
    EXPECT_EQ(with("log-keep", "0").log_files_kept, 0U);
    EXPECT_EQ(default_of(flag("log-keep")), std::to_string(log::FileSinkOptions{}.files_kept));
    EXPECT_EQ(with("min-receive-rate", "1k").minimum_rates.receive_bytes_per_second_min, 1024U);
    EXPECT_EQ(with("min-send-rate", "0").minimum_rates.send_bytes_per_second_min, 0U);
    EXPECT_EQ(with("max-line", "64").limits.request_line_bytes_max, 64U);
    EXPECT_EQ(with("max-head", "1MiB").limits.head_bytes_max, 1_MiB);
    EXPECT_EQ(with("max-fields", "10").limits.fields_max, 10U);
    EXPECT_EQ(with("max-body", "0").limits.body_bytes_max, 0U);
    EXPECT_EQ(with("send-buffer-max", "8MiB").limits.send_bytes_max, 8_MiB);
    EXPECT_EQ(with("max-connections", "7").connections_max, 7U);
    EXPECT_EQ(with("backlog", "65535").backlog, 65'535U);
    EXPECT_EQ(with("threads", "1024").threads, 1024U);
}

}  // namespace
}  // namespace tiderace::server

#include "server/config/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "server/command_line/flags.h"
#include "server/config/config_fixture.h"

namespace tiderace::server::config {
namespace {

TEST(Keys, EachFlagHasAKeyOrIsNamedHere) {
    // Of the command line alone, or what the reader puts together from other values.
    std::set<std::string_view> left{"open",          "print-config",    "quiet",
                                    "help",          "listen",          "tls",
                                    "index",         "no-listing",      "https-redirect",
                                    "error-page",    "path-error-page", "mime",
                                    "cgi",           "fastcgi",         "path-compress",
                                    "header",        "path-cors",       "path-header",
                                    "path-redirect", "basic-auth",      "path-auth",
                                    "path-rate",     "path-log"};
    for (const ServeFlag& flag : serve_flags()) {
        const bool has_key =
            std::ranges::any_of(keys(), [&](const Key& key) { return key.flag == flag.text.name; });
        EXPECT_NE(has_key, left.contains(flag.text.name)) << flag.text.name;
        left.erase(flag.text.name);
    }
    EXPECT_TRUE(left.empty()) << *left.begin();
}

TEST(Keys, AreUniqueInTheirTableAndTheirFlagsExist) {
    std::set<std::pair<TableKind, std::string_view>> seen;
    for (const Key& key : keys()) {
        EXPECT_TRUE(seen.emplace(key.in, key.name).second) << key.name;
        EXPECT_EQ(find_key(key.in, key.name), &key);
        if (key.flag.empty()) continue;
        EXPECT_TRUE(std::ranges::any_of(serve_flags(), [&](const ServeFlag& flag) {
            return flag.text.name == key.flag;
        })) << key.flag;
    }
}

TEST(Keys, AValueIsReadAsItsFlagReadsIt) {
    Memory memory;
    Sources sources;
    Problems problems;
    const DocumentWorld world = memory.world();
    const Reading reading{sources, problems, world};
    sources.add({"/etc/tiderace/a.toml", ""});
    ServeOptions options;
    const auto read = [&](TableKind in, std::string_view name, auto value) {
        return read_key(*find_key(in, name), Value{.at = {}, .content = value}, options, reading);
    };
    EXPECT_TRUE(read(TableKind::limits, "header_timeout", std::string("3s")));
    EXPECT_EQ(options.timeouts.header, 3s);
    EXPECT_TRUE(read(TableKind::server, "threads", std::int64_t{3}));
    EXPECT_EQ(options.threads, 3U);
    EXPECT_TRUE(read(TableKind::server, "name_field", false));
    EXPECT_FALSE(options.server_header) << "the key says what the server does, not the flag";
    EXPECT_TRUE(read(TableKind::log, "access", std::string("a.log")));
    EXPECT_EQ(options.access_log, "/etc/tiderace/a.log");
    EXPECT_TRUE(read(TableKind::log, "access", std::string("-")));
    EXPECT_EQ(options.access_log, "-");
    EXPECT_EQ(problems.errors(), 0U) << problems.text(sources);
    EXPECT_FALSE(read(TableKind::server, "threads", std::int64_t{-1}));
    EXPECT_FALSE(read(TableKind::server, "threads", 2.5));
    EXPECT_FALSE(read(TableKind::server, "threads", true));
    EXPECT_EQ(problems.errors(), 3U);
}

}  // namespace
}  // namespace tiderace::server::config

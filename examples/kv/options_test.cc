#include "examples/kv/options.h"

#include <string>

#include <gtest/gtest.h>

namespace kv {
namespace {

TEST(Options, AreReadInBothForms) {
    const auto options =
        parse_options({"--listen", "[::1]:0", "--maxmemory=8mb", "--fsync", "always",
                       "--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->listen, std::vector<std::string>{"[::1]:0"});
    EXPECT_EQ(options->memory_max, 8U << 20);
    EXPECT_EQ(options->sync, Sync::always);
    EXPECT_TRUE(options->log);
    EXPECT_EQ(options->eviction, Eviction::allkeys_lru);
}

TEST(Options, AWrongOneIsNamedWithWhatIsPossible) {
    EXPECT_EQ(parse_options({"--fsync", "often"}).error().message(),
              "option --fsync often: it is always, everysec or no");
    EXPECT_EQ(parse_options({"--maxmemory", "much"}).error().message(),
              "option --maxmemory much: it is a number of bytes: 1048576, 64k, 1g");
    EXPECT_EQ(parse_options({"--maxmemory-policy", "lru"}).error().message(),
              "option --maxmemory-policy lru: it is noeviction, allkeys-lru, allkeys-random, "
              "volatile-lru, volatile-random or volatile-ttl");
    EXPECT_EQ(parse_options({"--proto-max-bulk-len", "5g"}).error().message(),
              "option --proto-max-bulk-len 5g: it is a number of bytes: 1048576, 64k; at most "
              "4000m");
    for (const std::vector<std::string_view>& words :
         {std::vector<std::string_view>{"--nonsense", "1"}, {"--nonsense"}, {"--nonsense=1"}}) {
        EXPECT_EQ(parse_options(words).error().message(),
                  "option --nonsense: there is none; kv --help lists all");
    }
    EXPECT_EQ(parse_options({"7000"}).error().message(),
              "option 7000: there is none; kv --help lists all");
    EXPECT_EQ(parse_options({"--dir"}).error().message(), "option --dir: it needs a value");
}

TEST(Options, EachNameHasATextThatSetsItAgain) {
    const Options options;
    for (const std::string_view name : option_names()) {
        Options other;
        EXPECT_TRUE(set_option(other, name, option_text(options, name)).value()) << name;
        EXPECT_EQ(option_text(other, name), option_text(options, name));
    }
}

}  // namespace
}  // namespace kv

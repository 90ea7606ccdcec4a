#include "server/config/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/config/config_fixture.h"

namespace tiderace::server::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string dumped(Memory& memory, DumpForm form) {
    Sources sources;
    Problems problems;
    const DocumentWorld world = memory.world();
    const Table top = DocumentReader({sources, problems, world}).read("a.toml");
    EXPECT_EQ(problems.errors(), 0U) << problems.text(sources);
    return dump(top, sources, form);
}

Memory two_files() {
    Memory memory;
    memory.variables["FORMAT"] = "json";
    memory.files["/run/key"] = "from a file\n";
    memory.files["a.toml"] =
        "include = [\"b.toml\"]\n"
        "[log]\nformat = \"${FORMAT}\"\nlevel = \"${LEVEL:-error}\"\n"
        "[users.staff]\nann = \"password\"\n"
        "[users]\nothers = \"others.htpasswd\"\n"
        "[preset.plain]\ncompress = \"off\"\nrate = { limit = \"9/s\", burst = 3 }\n"
        "response.set = { A = \"preset\", B = \"preset\" }\n";
    memory.files["b.toml"] =
        "[[site]]\nhosts = [\"a.example\", \"b.example\"]\nuse = [\"plain\"]\n"
        "response.set.A = \"site\"\nresponse.set.Key = \"${file:/run/key}\"\n"
        "rate.limit = \"1/s\"\n"
        "[[site.route]]\npath = \"/x\"\ndeny = true\n";
    return memory;
}

TEST(Dump, EachValueHasItsPlaceAndVariableAndSecretsAreHidden) {
    Memory memory = two_files();
    EXPECT_EQ(dumped(memory, {}),
              "[log]\n"
              "format = \"json\"                         # a.toml:3, variable FORMAT\n"
              "level = \"error\"                         # a.toml:4\n"
              "\n[users]\n"
              "staff.ann = \"…\"                       # a.toml:6\n"
              "others = \"others.htpasswd\"              # a.toml:8\n"
              "\n[preset]\n"
              "plain.compress = \"off\"                  # a.toml:10\n"
              "plain.rate.limit = \"9/s\"                # a.toml:11\n"
              "plain.rate.burst = 3                    # a.toml:11\n"
              "plain.response.set.A = \"preset\"         # a.toml:12\n"
              "plain.response.set.B = \"preset\"         # a.toml:12\n"
              "\n[[site]]\n"
              "hosts = [\"a.example\", \"b.example\"]      # b.toml:2\n"
              "use = [\"plain\"]                         # b.toml:3\n"
              "response.set.A = \"site\"                 # b.toml:4\n"
              "response.set.Key = \"…\"                # b.toml:5\n"
              "rate.limit = \"1/s\"                      # b.toml:6\n"
              "\n[[site.route]]\n"
              "path = \"/x\"                             # b.toml:8\n"
              "deny = true                             # b.toml:9\n");
}

TEST(Dump, EffectiveHasPresetsInTheirPlacesAndDefaults) {
    Memory memory = two_files();
    const std::string text = dumped(memory, {.is_effective = true});
    EXPECT_THAT(text, HasSubstr("response.set.A = \"site\"                 # b.toml:4\n"));
    EXPECT_THAT(text,
                HasSubstr("response.set.B = \"preset\"               # a.toml:12, preset plain"));
    EXPECT_THAT(text, Not(HasSubstr("response.set.A = \"preset\"")));
    EXPECT_THAT(text,
                HasSubstr("compress = \"off\"                        # a.toml:10, preset plain"));
    EXPECT_THAT(text, Not(HasSubstr("rate.burst"))) << "of a rule the nearest is the whole";
    EXPECT_THAT(text, HasSubstr("listing = false                         # default\n"));
    EXPECT_THAT(text, HasSubstr("flush = \"1s\"                            # default\n"));
    EXPECT_THAT(text, HasSubstr("[server]\n# threads: (one per CPU)"));
    EXPECT_THAT(text, HasSubstr("\n[server.file_cache]\nsize = \"64MiB\""));
    EXPECT_THAT(text,
                HasSubstr("\n[limits]\nheader_timeout = \"10s\"                  # default\n"));
    EXPECT_THAT(text, Not(HasSubstr("\n[preset]")));
    EXPECT_THAT(text, Not(HasSubstr("\nuse = ")));
}

TEST(Dump, JsonNamesTheWholeKey) {
    Memory memory = two_files();
    const std::string text = dumped(memory, {.is_effective = true, .is_json = true});
    EXPECT_THAT(text, HasSubstr("{\"key\": \"site[0].route[0].deny\", \"value\": true, "
                                "\"file\": \"b.toml\", \"line\": 9}"));
    EXPECT_THAT(text, HasSubstr("{\"key\": \"site[0].compress\", \"value\": \"off\", \"file\": "
                                "\"a.toml\", \"line\": 10, \"preset\": \"plain\"}"));
    EXPECT_THAT(text, HasSubstr("{\"key\": \"log.format\", \"value\": \"json\", \"file\": "
                                "\"a.toml\", \"line\": 3, \"variable\": \"FORMAT\"}"));
    EXPECT_THAT(text, HasSubstr("{\"key\": \"limits.header_timeout\", \"value\": \"10s\", "
                                "\"default\": true}"));
    EXPECT_THAT(text, Not(HasSubstr("from a file")));
    EXPECT_THAT(text, Not(HasSubstr("password\"")));
}

TEST(Dump, AnyValueIsShown) {
    Memory memory;
    memory.files["a.toml"] =
        "a = 1.5\nb = [nan, 1979-05-27, [ { \"x y\" = 1 } ]]\nc = {}\nd = []\n\"e f\" = true\n";
    EXPECT_THAT(dumped(memory, {}), HasSubstr("b = [nan, \"a date\", [{ \"x y\" = 1 }]]"));
    EXPECT_THAT(dumped(memory, {.is_json = true}),
                HasSubstr("\"value\": [\"nan\", \"a date\", [{\"x y\": 1}]]"));
    memory.files["a.toml"] = "";
    EXPECT_EQ(dumped(memory, {}), "");
    EXPECT_EQ(dumped(memory, {.is_json = true}), "[]\n");
}

TEST(Dump, OfAFileWithAFaultNothingIsPrinted) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(dump_file("/none/a.toml", {}), 2);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("no such file"));
}

}  // namespace
}  // namespace tiderace::server::config

#include "server/nginx/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/config/config_fixture.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server::nginx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::expected<std::vector<Directive>, Fault> read(const std::string& text) {
    config::Memory memory;
    memory.files["n.conf"] = text;
    const config::DocumentWorld world = memory.world();
    return Reader(world).read("n.conf");
}

TEST(NginxReader, DirectivesHaveWordsBlocksAndPlaces) {
    const auto all = read(
        "user  a b;# c\n"
        "http {\n  server{listen 80;}\n"
        "  add_header X \"a \\\" b\" always; return 200 'it''s';\n}");
    ASSERT_FALSE(all) << "a blank is missing behind a quote";
    const auto right = read(
        "user  a b;# c\nhttp {\n  server{listen 80;}\n"
        "  add_header X \"a \\\" b\" always;\n  rewrite ^/x\\.y$ /${a}b last;\n}");
    ASSERT_TRUE(right);
    ASSERT_EQ(right->size(), 2U);
    EXPECT_THAT((*right)[0].words, ElementsAre("a", "b"));
    const Directive& http = (*right)[1];
    EXPECT_TRUE(http.has_block);
    ASSERT_EQ(http.block.size(), 3U);
    EXPECT_EQ(http.block[0].block[0].place(), "n.conf:3");
    EXPECT_THAT(http.block[1].words, ElementsAre("X", "a \" b", "always"));
    EXPECT_EQ(http.block[1].text(), "add_header X \"a \\\" b\" always");
    EXPECT_THAT(http.block[2].words, ElementsAre("^/x\\.y$", "/${a}b", "last"));
}

TEST(NginxReader, AFaultOfSyntaxIsOneSentenceWithItsPlace) {
    constexpr std::pair<const char*, const char*> cases[] = {
        {"a", "n.conf:1: a \";\" is missing"},
        {"\na {", "n.conf:2: a \"}\" is missing"},
        {"a { b }", "n.conf:1: a \";\" is missing before \"}\""},
        {"}", "n.conf:1: \"}\" closes nothing"},
        {";", "n.conf:1: a name is missing before \";\""},
        {"{ }", "n.conf:1: a name is missing before \"{\""},
        {"a \"b\n;", "n.conf:1: a quote is not closed"},
        {"a \"b\"c;", "n.conf:1: a blank is missing behind a quote"}};
    for (const auto& [text, sentence] : cases) {
        const auto all = read(text);
        ASSERT_FALSE(all) << text;
        EXPECT_EQ(all.error().sentence, sentence);
        EXPECT_TRUE(all.error().is_syntax);
    }
    std::string deep;
    for (int i = 0; i < 1000; ++i) deep += "a {";
    ASSERT_FALSE(read(deep));
    EXPECT_THAT(read(deep).error().sentence, HasSubstr("too deep"));
}

TEST(NginxReader, EndsWhateverTheTextIs) {
    const std::string text = "a \"b\\\" c\" { d 'e' ${f} \\; } # g\n include h;";
    for (std::size_t i = 0; i <= text.size(); ++i) {
        static_cast<void>(read(text.substr(0, i)));
        static_cast<void>(read(text.substr(i)));
    }
    EXPECT_TRUE(read(""));
    EXPECT_TRUE(read(std::string("\0;", 2)));
}

TEST(NginxReader, IncludesStandInTheirPlace) {
    const testing::TemporaryFolder folder;
    folder.write("n.conf", "a; include sites/*.conf; include none.conf; include mime.types; z;");
    folder.write("sites/1.conf", "b;");
    folder.write("sites/2.conf", "c { include inner.conf; }");
    folder.write("inner.conf", "d;");
    const config::DocumentWorld world = config::this_world();
    const auto all = Reader(world).read(folder.path_of("n.conf"));
    ASSERT_TRUE(all);
    std::vector<std::string> names;
    for (const Directive& each : *all) names.push_back(each.text());
    EXPECT_THAT(names, ElementsAre("a", "b", "c", "include none.conf", "include mime.types", "z"));
    EXPECT_EQ((*all)[2].block[0].name, "d") << "relative to the first file";
    folder.write("sites/1.conf", "include n.conf; include n.conf;");
    EXPECT_FALSE(Reader(world).read(folder.path_of("n.conf"))) << "too many files";
    folder.write("sites/1.conf", "}");
    const auto wrong = Reader(world).read(folder.path_of("n.conf"));
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().sentence, HasSubstr("sites/1.conf:1: "));
}

TEST(NginxReader, AFileThatIsNotThere) {
    const config::DocumentWorld world = config::this_world();
    const auto all = Reader(world).read("/none/n.conf");
    ASSERT_FALSE(all);
    EXPECT_THAT(all.error().sentence, HasSubstr("no such file"));
    EXPECT_FALSE(all.error().is_syntax);
}

}  // namespace
}  // namespace tiderace::server::nginx

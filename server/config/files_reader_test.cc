#include "server/config/files_reader.h"

#include <gtest/gtest.h>

#include "server/config/config_fixture.h"
#include "server/config/toml.h"

namespace tiderace::server::config {
namespace {

class FilesReaderTest : public ::testing::Test {
  protected:
    // A route of this path, with these lines.
    FileSettings read(const std::string& path, const std::string& text) {
        const Table table = parse_toml(sources_, sources_.add({"a.toml", text}), problems_);
        FilesReader reader(reading_);
        Route route{.match = {.path = path}};
        for (const Member& member : table.members) {
            EXPECT_TRUE(reader.read(TableKind::route, member, route, options_)) << member.key;
        }
        reader.check(table, route);
        return route.files;
    }

    Memory memory_;
    DocumentWorld world_ = memory_.world();
    Sources sources_;
    Problems problems_;
    Reading reading_{sources_, problems_, world_};
    ServeOptions options_;
};

TEST_F(FilesReaderTest, ARouteHasWhatASiteHasAndThePathOfAFile) {
    const FileSettings files = read("/x/y", R"(root = "/srv/www"
index = ["a.html"]
listing = true
hidden = true
strip = "/x/"
prefix = "/{host.1}"
try = ["{path}", "/b", 404]
)");
    EXPECT_EQ(problems_.text(sources_), "");
    EXPECT_EQ(files.root, "/srv/www");
    EXPECT_EQ(files.index, std::vector<std::string>{"a.html"});
    EXPECT_TRUE(files.listing == true && files.hidden == true && !files.clean_urls);
    EXPECT_EQ(files.strip, "/x");
    EXPECT_EQ(files.prefix, "/{host.1}");
    EXPECT_EQ(files.tries, (std::vector<std::string>{"{path}", "/b"}));
    EXPECT_EQ(files.or_status, 404);
    EXPECT_EQ(options_.root, ".") << "the site's stays";
}

TEST_F(FilesReaderTest, WhatIsWrongIsReported) {
    const char* const wrong[] = {
        "strip = \"/z\"\n",
        "strip = \"x\"\n",
        "prefix = \"/a//b\"\n",
        "prefix = \"/{none}\"\n",
        "try = []\n",
        "try = [404, \"/a\"]\n",
        "try = [\"/a\", 200]\n",
        "rewrite = \"a\"\n",
        "rewrite = \"/{1}\"\n",
        "root = \"{path}/a\"\n",
        "try = [\"/a/../b\"]\n",
        "root = 5\n",
        "index = \"a\"\n",
        "try = [\"/a\"]\nfallback = \"a.html\"\n",
    };
    for (const char* const text : wrong) {
        const std::size_t before = problems_.errors();
        read("/x", text);
        EXPECT_EQ(problems_.errors(), before + 1) << text << problems_.text(sources_);
    }
}

}  // namespace
}  // namespace tiderace::server::config

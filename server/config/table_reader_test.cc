#include "server/config/table_reader.h"

#include <gtest/gtest.h>

#include <vector>

#include "server/config/config_fixture.h"
#include "server/config/toml.h"

namespace tiderace::server::config {
namespace {

class TableReaderTest : public ::testing::Test {
  protected:
    Table parse(const std::string& text) {
        return parse_toml(sources_, sources_.add({"a.toml", text}), problems_);
    }

    Memory memory_;
    DocumentWorld world_ = memory_.world();
    Sources sources_;
    Problems problems_;
    Reading reading_{sources_, problems_, world_};
};

TEST_F(TableReaderTest, EachKeyIsReadOnceByItsFlagOrItsOwnReader) {
    const Table table = parse("threads = 2\nfile_cache = { size = \"1MiB\" }\nnone = 1\n");
    ServeOptions options;
    std::vector<std::string> own;
    read_table(TableKind::server, table, options, reading_, [&](const Member& member) {
        own.push_back(member.key);
        return member.key == "file_cache";
    });
    EXPECT_EQ(options.threads, 2U);
    EXPECT_EQ(own, (std::vector<std::string>{"threads", "file_cache"}));
    EXPECT_EQ(problems_.errors(), 1U) << problems_.text(sources_);
}

TEST_F(TableReaderTest, AnotherTypeThanATableIsAProblem) {
    const Table table = parse("log = 3\nsite = { a = 1 }\nlisten = [1, { a = 2 }]\n");
    EXPECT_EQ(table_in(table, "log", reading_), nullptr);
    EXPECT_EQ(table_in(table, "none", reading_), nullptr);
    std::size_t found = 0;
    const auto count = [&](const Member&, const Table&) { ++found; };
    for_each_table(table, "site", reading_, count);
    EXPECT_EQ(found, 0U);
    for_each_table(table, "listen", reading_, count);
    EXPECT_EQ(found, 1U);
    EXPECT_EQ(problems_.errors(), 3U) << problems_.text(sources_);
}

}  // namespace
}  // namespace tiderace::server::config

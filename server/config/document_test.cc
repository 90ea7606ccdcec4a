#include "server/config/document.h"

#include <gtest/gtest.h>

#include <string>

#include "server/config/config_fixture.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server::config {
namespace {

class DocumentTest : public ::testing::Test {
  protected:
    Table read(const std::string& text) {
        memory_.files["site.toml"] = text;
        const DocumentWorld world = memory_.world();
        return DocumentReader(Reading{sources_, problems_, world}).read("site.toml");
    }
    Table read_from_disk(const std::string& path) {
        const DocumentWorld world = this_world();
        return DocumentReader(Reading{sources_, problems_, world}).read(path);
    }
    static std::string text_of(const Table& table, std::string_view key) {
        const Member* const member = table.find(key);
        const auto* const text = member != nullptr ? member->value.get<std::string>() : nullptr;
        return text != nullptr ? *text : "none";
    }
    std::string told() { return problems_.text(sources_); }

    Memory memory_;
    Sources sources_;
    Problems problems_;
};

TEST_F(DocumentTest, VariablesAreReplacedOnceAndInsideOfStringsAlone) {
    memory_.variables["ROOT"] = "/srv/${OTHER}";
    const Table table = read(
        "a = \"${ROOT}/www\"\nb = \"${NONE:-x:-y}\"\nc = [\"${ROOT}\"]\nd = \"{host} $ {x}\"\n"
        "e = \"${NONE:-}\"\n");
    EXPECT_EQ(text_of(table, "a"), "/srv/${OTHER}/www")
        << "the value of a variable is not read again";
    EXPECT_EQ(text_of(table, "b"), "x:-y");
    EXPECT_EQ(*table.find("c")->value.get<Array>()->front().get<std::string>(), "/srv/${OTHER}");
    EXPECT_EQ(text_of(table, "d"), "{host} $ {x}");
    EXPECT_EQ(text_of(table, "e"), "");
    EXPECT_EQ(told(), "");
}

TEST_F(DocumentTest, AVariableThatIsNotSetOrNotClosedIsAProblem) {
    read("a = \"${NONE}\"\nb = \"${ROOT\"\n");
    EXPECT_NE(told().find("site.toml:1:5: error: the variable NONE is not set"), std::string::npos);
    EXPECT_NE(told().find("site.toml:2:5: error: \"${\" has no \"}\""), std::string::npos);
}

TEST_F(DocumentTest, AFilesTextLosesItsLineEndAndIsASecret) {
    memory_.files["/run/secrets/x"] = "pass\r\n";
    const Table table = read("a = \"${file:/run/secrets/x}\"\nb = \"${file:/none}\"\n");
    EXPECT_EQ(text_of(table, "a"), "pass");
    EXPECT_TRUE(table.find("a")->value.is_secret);
    EXPECT_EQ(problems_.errors(), 1U) << told();
    EXPECT_EQ(told().find("pass"), std::string::npos);
}

TEST_F(DocumentTest, AFileIsRelativeToTheFileThatNamesIt) {
    testing::TemporaryFolder folder;
    folder.write("main.toml", "include = [\"sites/*.toml\"]\na = \"${file:key}\"\n");
    folder.write("key", "outer");
    folder.write("sites/a.toml", "b = \"${file:key}\"\n");
    folder.write("sites/key", "inner");
    const Table table = read_from_disk(folder.path_of("main.toml"));
    EXPECT_EQ(told(), "");
    EXPECT_EQ(text_of(table, "a"), "outer");
    EXPECT_EQ(text_of(table, "b"), "inner");
}

TEST_F(DocumentTest, IncludedListsAppendAndTablesJoin) {
    testing::TemporaryFolder folder;
    folder.write("main.toml", "include = [\"sites/*.toml\"]\n[log]\nlevel = \"info\"\n");
    folder.write("sites/b.toml", "[[site]]\nname = \"b\"\n[log]\nformat = \"json\"\n");
    folder.write("sites/a.toml", "[[site]]\nname = \"a\"\n");
    const Table table = read_from_disk(folder.path_of("main.toml"));
    EXPECT_EQ(told(), "");
    const Array& sites = *table.find("site")->value.get<Array>();
    ASSERT_EQ(sites.size(), 2U);
    EXPECT_EQ(text_of(*sites[0].get<Table>(), "name"), "a") << "sorted by name";
    EXPECT_EQ(table.find("log")->value.get<Table>()->members.size(), 2U);
}

TEST_F(DocumentTest, AValueThatTwoFilesSetIsAProblemThatNamesBoth) {
    memory_.files["other.toml"] = "[log]\nlevel = \"debug\"\n";
    read("include = [\"other.toml\"]\n[log]\nlevel = \"info\"\n");
    EXPECT_NE(told().find("other.toml:2:1: error: \"level\" is set twice"), std::string::npos);
    EXPECT_NE(told().find("it is set at site.toml:3:1"), std::string::npos) << told();
}

TEST_F(DocumentTest, ACircleOfIncludesEnds) {
    memory_.files["other.toml"] = "include = [\"site.toml\"]\n";
    read("include = [\"other.toml\"]\n");
    EXPECT_NE(told().find("other.toml:1:12: error: site.toml includes itself"), std::string::npos)
        << told();
    EXPECT_EQ(problems_.errors(), 1U);
}

TEST_F(DocumentTest, TooDeepIsAProblem) {
    for (int i = 0; i < 12; ++i) {
        memory_.files[std::to_string(i) + ".toml"] =
            "include = [\"" + std::to_string(i + 1) + ".toml\"]\n";
    }
    read("include = [\"0.toml\"]\n");
    EXPECT_NE(told().find("more than 8 deep"), std::string::npos) << told();
}

TEST_F(DocumentTest, TheFolderOfAFileIsNoPattern) {
    testing::TemporaryFolder folder;
    folder.make_folder("a[b]*\\");
    folder.write("a[b]*\\/main.toml", "include = [\"s*.toml\"]\n");
    folder.write("a[b]*\\/site.toml", "[log]\nlevel = \"info\"\n");
    const Table table = read_from_disk(folder.path_of("a[b]*\\/main.toml"));
    EXPECT_EQ(told(), "");
    EXPECT_NE(table.find("log"), nullptr);
}

TEST_F(DocumentTest, AMissingFileIsAnErrorAndAPatternWithoutFilesAWarning) {
    testing::TemporaryFolder folder;
    folder.write("main.toml", "include = [\"sites/*.toml\", \"none.toml\"]\n");
    read_from_disk(folder.path_of("main.toml"));
    EXPECT_EQ(problems_.warnings(), 1U) << told();
    EXPECT_EQ(problems_.errors(), 1U) << told();
}

TEST_F(DocumentTest, AFileThatIsTooLargeOrAFolderIsRefused) {
    testing::TemporaryFolder folder;
    folder.write("large.toml", std::string(DocumentReader::file_bytes_max + 1, '#'));
    read_from_disk(folder.path_of("large.toml"));
    EXPECT_NE(told().find("larger than 16MiB"), std::string::npos) << told();
    read_from_disk(folder.path());
    EXPECT_NE(told().find("is a directory"), std::string::npos) << told();
}

// There may be 10,000 of them, and all are kept.
TEST_F(DocumentTest, AFileTakesTheMemoryOfItsTextAlone) {
    testing::TemporaryFolder folder;
    folder.write("small.toml", "a = 1\n");
    const auto text = this_world().read(folder.path_of("small.toml"), 16u << 20);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, "a = 1\n");
    EXPECT_LT(text->capacity(), 1u << 20);
}

TEST_F(DocumentTest, APathIsRelativeToItsFile) {
    const std::uint32_t file = sources_.add({"/etc/tiderace/a.toml", "x\n"});
    const DocumentWorld world = memory_.world();
    const Reading reading{sources_, problems_, world};
    EXPECT_EQ(reading.path_of("www", {file, 1, 1}), "/etc/tiderace/www");
    EXPECT_EQ(reading.path_of("/srv/www", {file, 1, 1}, FileKind::folder), "/srv/www");
    EXPECT_EQ(told(), "");
    reading.path_of("none", {file, 1, 1}, FileKind::file);
    EXPECT_EQ(problems_.errors(), 1U);
}

}  // namespace
}  // namespace tiderace::server::config

#include "server/db_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tiderace/db/database_fixture.h"

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Words = std::vector<std::string_view>;

CliFailure failure(const Words& words) {
    const auto command = parse_database_command_line(words);
    EXPECT_FALSE(command.has_value());
    return command ? CliFailure{} : command.error();
}

std::string printout(const Words& words) {
    const auto command = parse_database_command_line(words);
    if (!command || !std::holds_alternative<Printout>(*command)) return "(not a printout)";
    return std::get<Printout>(*command).text;
}

TEST(DatabaseCommandLine, TakesAUrlAndAFolder) {
    const auto command =
        parse_database_command_line(Words{"status", "postgres://a:b@host/name", "migrations"});
    ASSERT_TRUE(command) << command.error().sentence;
    const auto& options = std::get<DatabaseOptions>(*command);
    EXPECT_TRUE(options.status_only);
    EXPECT_EQ(options.url, "postgres://a:b@host/name");
    EXPECT_EQ(options.folder, "migrations");
}

TEST(DatabaseCommandLine, WrongWordsHaveStatusTwo) {
    const struct {
        Words words;
        std::string_view says;
    } cases[] = {
        {{"migrate"}, "expects a database and a folder"},
        {{"migrate", "sqlite:x"}, "expects a database and a folder"},
        {{"migrate", "sqlite:x", "a", "b"}, "does not take the word b"},
        {{"migrate", "oracle://x/y", "a"}, "sqlite:, postgres:// or mariadb://"},
        {{"migrate", "x.db", "a"}, "sqlite:, postgres:// or mariadb://"},
        {{"status", "--fast", "sqlite:x", "a"},
         "unknown flag --fast; tiderace db help status lists them"},
        {{"migrat", "sqlite:x", "a"}, "did you mean migrate?"},
        {{"sqlite:x", "a"}, "tiderace db help"},
        {{"help", "statsu"}, "did you mean status?"},
    };
    for (const auto& each : cases) {
        const CliFailure fault = failure(each.words);
        EXPECT_THAT(fault.sentence, HasSubstr(std::string(each.says)));
        EXPECT_EQ(fault.exit_status, 2) << fault.sentence;
    }
}

TEST(DatabaseCommandLine, APasswordIsInNoMessage) {
    EXPECT_THAT(failure({"migrate", "oracle://me:secret@x/y", "a"}).sentence,
                ::testing::Not(HasSubstr("secret")));
}

TEST(DatabaseCommandLine, HelpIsAPage) {
    EXPECT_THAT(printout({}), HasSubstr("Usage: tiderace db COMMAND"));
    EXPECT_THAT(printout({"help", "migrate"}), HasSubstr("Usage: tiderace db migrate URL DIR"));
    EXPECT_THAT(printout({"status", "--help"}), HasSubstr("Usage: tiderace db status URL DIR"));
}

TEST(DatabaseCommandLine, ADashTakesTheUrlFromTheEnvironment) {
    ::unsetenv("DATABASE_URL");
    EXPECT_EQ(failure({"migrate", "-", "a"}).sentence, "- needs a URL in DATABASE_URL");
    ::setenv("DATABASE_URL", "sqlite:from.db", 1);
    const auto command = parse_database_command_line(Words{"migrate", "-", "a"});
    ::unsetenv("DATABASE_URL");
    ASSERT_TRUE(command) << command.error().sentence;
    EXPECT_EQ(std::get<DatabaseOptions>(*command).url, "sqlite:from.db");
}

class DatabaseCommand : public ::testing::TestWithParam<db::Dialect> {
  protected:
    void SetUp() override {
        if (GetParam() == db::Dialect::sqlite) {
            url = "sqlite:" + data.file("test.db");
            return;
        }
        const std::string missing = db::Server::missing(GetParam());
        if (!missing.empty()) GTEST_SKIP() << missing;
        url = db::Server::shared(GetParam()).fresh("commands");
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder.file(name)) << text;
    }
    DatabaseOutcome migrate() { return run_database_command({false, url, folder.path()}); }
    DatabaseOutcome status() { return run_database_command({true, url, folder.path()}); }

    db::Folder data;
    db::Folder folder;
    std::string url;
};

TEST_P(DatabaseCommand, MigratesAndShowsWhatIsDone) {
    write("0001_members.sql", "create table member (id int);");
    write("0002_search.sql", "create table found (id int);");
    EXPECT_EQ(status().text, "0001_members  pending\n0002_search   pending\n");
    const DatabaseOutcome first = migrate();
    EXPECT_EQ(first.complaint, "");
    EXPECT_THAT(first.text, StartsWith("done  0001_members\ndone  0002_search\n"));
    EXPECT_THAT(first.text, HasSubstr(": 2 migrations done, 0 before\n"));
    EXPECT_EQ(status().text, "0001_members  done\n0002_search   done\n");
    EXPECT_THAT(migrate().text, HasSubstr("nothing to do, 2 migrations were done before"));
}

TEST_P(DatabaseCommand, AFileThatFailsIsNamedWithItsLine) {
    write("0001_a.sql", "create table a (n int);\n\nselect n from nowhere;\n");
    const DatabaseOutcome outcome = migrate();
    EXPECT_EQ(outcome.text, "");
    EXPECT_THAT(outcome.complaint, HasSubstr("migration 0001_a.sql: line 3: "));
    EXPECT_THAT(outcome.complaint, HasSubstr("nowhere"));
}

TEST_P(DatabaseCommand, AChangedFileIsRefusedAndShown) {
    write("0001_a.sql", "create table a (n int)");
    migrate();
    write("0001_a.sql", "create table a (n bigint)");
    EXPECT_THAT(migrate().complaint, HasSubstr("1_a was changed after it was done"));
    EXPECT_EQ(status().text, "0001_a  changed after it was done\n");
    EXPECT_THAT(status().complaint, HasSubstr("1 migration cannot stay so"));
}

TEST_P(DatabaseCommand, AFolderWithoutMigrationsOrWithoutItselfIsNamed) {
    const std::string path = folder.path();
    EXPECT_THAT(migrate().complaint, HasSubstr("no file in " + path + " is called"));
    EXPECT_THAT(status().complaint, HasSubstr("no file in " + path + " is called"));
    EXPECT_THAT(run_database_command({false, url, path + "/none"}).complaint,
                HasSubstr("cannot read " + path + "/none: No such file"));
}

INSTANTIATE_TEST_SUITE_P(Dialects, DatabaseCommand,
                         ::testing::Values(db::Dialect::sqlite, db::Dialect::postgres,
                                           db::Dialect::mariadb),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::server

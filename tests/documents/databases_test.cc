// The programs of docs/databases.md, on SQLite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/documents/program.h"

namespace documents {
namespace {

using ::testing::HasSubstr;

class Databases : public ::testing::Test {
  protected:
    std::string run_program(const std::string& name) {
        Program program(folder, "databases/" + name);
        EXPECT_EQ(program.wait(), 0);
        return program.output();
    }

    tiderace::testing::TemporaryFolder folder;
};

TEST_F(Databases, StatementsReadRowsIntoStructs) {
    EXPECT_EQ(run_program("statements"),
              "heron: 7.5 m\n2 boats, first heron\ntern was never measured\n");
}

TEST_F(Databases, ATransactionIsDoneAsAWholeOrNotAtAll) {
    EXPECT_EQ(run_program("transactions"), "there is not enough\n70 cents are saved\n");
}

TEST_F(Databases, AnErrorHasAKind) {
    EXPECT_THAT(run_program("errors"), HasSubstr("UNIQUE constraint failed: boat.name"));
}

TEST_F(Databases, AMigrationIsDoneOnce) {
    folder.write("migrations/0001_boats.sql",
                 block_after("docs/databases.md", "With `migrations/0001_boats.sql`"));
    EXPECT_EQ(run_program("migrations"), "1 boats\n");
    EXPECT_EQ(run_program("migrations"), "");
    EXPECT_THAT(run_program("statements"), HasSubstr("2 boats")) << "on the table that it made";
}

}  // namespace
}  // namespace documents

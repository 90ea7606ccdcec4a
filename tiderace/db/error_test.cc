#include "tiderace/db/error.h"

#include <gtest/gtest.h>

namespace tiderace::db {
namespace {

TEST(Error, ItsTextHasKindMessageAndStatement) {
    const Error error(Fault::unique, "the name is taken", "insert into\nmember");
    EXPECT_STREQ(error.what(), "database: unique: the name is taken [insert into member]");
    EXPECT_EQ(error.kind(), Fault::unique);
    EXPECT_EQ(error.message(), "the name is taken");
}

TEST(Error, ALongStatementIsCutBetweenCharacters) {
    std::string statement(Error::statement_bytes_max - 1, 'x');
    statement += "世界";
    const Error error(Fault::other, "", statement);
    EXPECT_EQ(error.statement(), std::string(Error::statement_bytes_max - 1, 'x') + "…");
}

TEST(Error, OnlyWhatDidNothingIsWorthAnother) {
    EXPECT_TRUE(Error(Fault::deadlock, "").worth_another());
    EXPECT_TRUE(Error(Fault::serialization, "").worth_another());
    EXPECT_FALSE(Error(Fault::unknown_outcome, "").worth_another());
    EXPECT_FALSE(Error(Fault::unique, "").worth_another());
}

TEST(Error, AnOutagePassesAndAnUnknownOutcomeDoesNot) {
    for (const Fault kind :
         {Fault::connection_lost, Fault::busy, Fault::timeout, Fault::deadlock}) {
        EXPECT_TRUE(Error(kind, "x").is_transient()) << name_of(kind);
    }
    for (const Fault kind : {Fault::unknown_outcome, Fault::unique, Fault::syntax, Fault::full}) {
        EXPECT_FALSE(Error(kind, "x").is_transient()) << name_of(kind);
    }
}

TEST(Error, AnotherKindKeepsTheRest) {
    const Error error =
        Error(Fault::connection_lost, "gone", "commit").with_kind(Fault::unknown_outcome);
    EXPECT_STREQ(error.what(), "database: unknown_outcome: gone [commit]");
}

}  // namespace
}  // namespace tiderace::db

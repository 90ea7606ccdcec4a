#include "tiderace/db/statement.h"

#include <gtest/gtest.h>

namespace tiderace::db {
namespace {

struct Case {
    Dialect dialect;
    std::string_view sql;
    std::string_view text;
    std::size_t parameters;
};

TEST(Statement, QuestionMarksAreFoundWhereTheyAreParameters) {
    using enum Dialect;
    const Case cases[] = {
        {sqlite, "select ? + ?", "select ? + ?", 2},
        {postgres, "select ? + ?", "select $1 + $2", 2},
        {postgres, "select '?', \"?\", ?", "select '?', \"?\", $1", 1},
        {postgres, "select 'it''s ?', ?", "select 'it''s ?', $1", 1},
        {postgres, "select -- ?\n ?", "select -- ?\n $1", 1},
        {postgres, "select /* ? /* ? */ ? */ ?", "select /* ? /* ? */ ? */ $1", 1},
        {sqlite, "select /* /* */ ? /* */", "select /* /* */ ? /* */", 1},
        {postgres, "select E'\\'?', ?", "select E'\\'?', $1", 1},
        {postgres, "select '\\', ?", "select '\\', $1", 1},
        {mariadb, "select '\\'?', ?", "select '\\'?', ?", 1},
        {mariadb, "select `?`, ? # ?", "select `?`, ? # ?", 1},
        {mariadb, "select 5--?", "select 5--?", 1},
        {sqlite, "select 5--?", "select 5--?", 0},
        {postgres, "select $$?$$, $x$ ? $$ $x$, ?", "select $$?$$, $x$ ? $$ $x$, $1", 1},
        {postgres, "select a ?? 'k', ?", "select a ? 'k', $1", 1},
        {postgres, "select '? never closed", "select '? never closed", 0},
        {sqlite, "select \"a\"\"?\", ?", "select \"a\"\"?\", ?", 1},
    };
    for (const Case& each : cases) {
        const Scanned found = scan(each.sql, each.dialect);
        EXPECT_EQ(found.text, each.text) << each.sql;
        EXPECT_EQ(found.parameters, each.parameters) << each.sql;
    }
}

TEST(Statement, WhatReadsIsKnownByItsFirstWord) {
    for (const auto sql :
         {"select 1", "  SELECT 1", "-- a\nselect 1", "(select 1)", "values (1)"}) {
        EXPECT_TRUE(scan(sql, Dialect::sqlite).reads) << sql;
    }
    for (const auto sql :
         {"insert into a values (1)", "selection", "", "update a set select = 1"}) {
        EXPECT_FALSE(scan(sql, Dialect::sqlite).reads) << sql;
    }
    EXPECT_TRUE(scan("with a as (select 1) insert into b", Dialect::sqlite).with);
}

TEST(Statement, WhatChangesSomethingIsNoRead) {
    using enum Dialect;
    const struct {
        Dialect dialect;
        std::string_view sql;
        bool reads;
    } cases[] = {
        {postgres, "explain select 1", true},
        {postgres, "explain delete from a", true},
        {postgres, "explain analyze delete from a", false},
        {postgres, "EXPLAIN (verbose, ANALYSE) delete from a", false},
        {postgres, "explain select 'analyze', \"analyze\" from a", true},
        {postgres, "select analyze from a", true},
        {mariadb, "analyze delete from a", false},
        {postgres, "with a as (delete from b returning *) select * from a", false},
        {postgres, "select * into b from a", false},
        {mariadb, "select 1 INTO outfile 'a'", false},
        {postgres, "select 'into', intoo from a", true},
        {postgres, "select nextval('a')", false},
        {postgres, "select pg_catalog.setval('a', 1)", false},
        {postgres, "select pg_notify('a', 'b')", false},
        {postgres, "call a()", false},
        {postgres, "/* select */ delete from a", false},
        {mariadb, "/*! delete from a */", false},
        {mariadb, "select 1 /*! into outfile 'a' */", false},
        {mariadb, "select 1 /*M! into outfile 'a' */", false},
        {postgres, "select 1 /*! into b */", true},
        {postgres, "table a", false},
    };
    for (const auto& each : cases) {
        EXPECT_EQ(scan(each.sql, each.dialect).reads, each.reads) << each.sql;
    }
    EXPECT_TRUE(scan("LISTEN posts", postgres).listens);
    EXPECT_FALSE(scan("select listen from a", postgres).listens);
    EXPECT_FALSE(scan("listen posts", mariadb).listens);
}

TEST(Statement, TwoInOneTextAreSeen) {
    EXPECT_TRUE(scan("select 1; drop table a", Dialect::sqlite).many);
    EXPECT_FALSE(scan("select ';' ; -- end\n", Dialect::sqlite).many);
}

TEST(Statement, ACutTextIsScannedToItsEnd) {
    const std::string_view sql =
        "select '?\\' $a$ ? $a$ E'\\'' /* /* */ ? */ -- ?\n ?? `?` \"?\" # ; x";
    for (const Dialect dialect : {Dialect::sqlite, Dialect::postgres, Dialect::mariadb}) {
        for (std::size_t i = 0; i <= sql.size(); ++i) {
            const Scanned found = scan(sql.substr(0, i), dialect);
            if (dialect == Dialect::postgres) continue;
            EXPECT_EQ(found.text, sql.substr(0, i));
        }
    }
}

TEST(Statement, OfSeveralTheBeginningOfEachIsFound) {
    constexpr std::string_view script = "-- first; \nselect ';';\n;\n /* ; */ select 2 ; ";
    EXPECT_EQ(line_at(script, start_of_statement(script, 0, Dialect::sqlite)), 2U);
    EXPECT_EQ(line_at(script, start_of_statement(script, 1, Dialect::sqlite)), 4U);
    EXPECT_EQ(start_of_statement(script, 2, Dialect::sqlite), script.npos);
    EXPECT_EQ(start_of_statement("", 0, Dialect::postgres), script.npos);
    EXPECT_EQ(start_of_statement("select $$;$$; x", 1, Dialect::postgres), 14U);
}

}  // namespace
}  // namespace tiderace::db

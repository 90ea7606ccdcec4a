#include "lab/report/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/report/sample_fixture.h"

namespace tiderace::lab::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> row_of(const Table& table, std::string_view name) {
    for (const auto& row : table.rows) {
        if (row[0] == name) return row;
    }
    return {};
}

TEST(Tables, AtAGlanceEveryServerThatRanHasARow) {
    const Table table = glance(Findings(sample_results()));
    EXPECT_THAT(table.heads, ElementsAre("", "w1"));
    EXPECT_THAT(row_of(table, "epoll"), ElementsAre("epoll", "×1.50"));
    EXPECT_THAT(row_of(table, "select"), ElementsAre("select", "×3.00*"));
    EXPECT_THAT(row_of(table, "pool"), ElementsAre("pool", "hung"));
    EXPECT_THAT(row_of(table, "caddy"), ElementsAre());
}

TEST(Tables, AllFiguresOfAWorkloadAreThere) {
    const Findings findings(sample_results());
    const Table table = figures(findings, findings.results.workloads[0]);
    EXPECT_EQ(table.heads.size(), table.is_number.size());
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.heads.size());
    EXPECT_THAT(row_of(table, "epoll"),
                ElementsAre("epoll", "10,000", "6.00", "5.00–8.00", "×1.50", "100,000", "100 µs",
                            "400 µs", "2.00 ms", "5.00 MB", "10,000", ""));
    EXPECT_EQ(row_of(table, "select").back(), "refused: it held 1,012 of 10,000 connections");
    EXPECT_EQ(row_of(table, "pool").back(), "hung: no answer");
}

TEST(Tables, IdleConnectionsAreReported) {
    Findings findings(sample_results());
    const Table table = figures(findings, findings.results.workloads[2]);
    EXPECT_EQ(table.heads.size(), table.is_number.size());
    EXPECT_THAT(row_of(table, "epoll"), ElementsAre("epoll", "1,000", "1.00 kB", "1.00 kB–1.00 kB",
                                                    "4.00 MB", "5.00 MB", "1,000", ""));
    findings.cells.back().state = CellState::hung;
    findings.cells.back().reason = "no answer";
    EXPECT_THAT(row_of(figures(findings, findings.results.workloads[2]), "epoll"),
                ElementsAre("epoll", "1,000", "–", "–", "–", "–", "–", "hung: no answer"));
}

TEST(Tables, ClaimsAreHeldAgainstTheRun) {
    Results results = sample_results();
    results.subjects.push_back({.name = "io_uring"});
    results.subjects.push_back({.name = "libevent"});
    results.cells.push_back(sample_cell("io_uring", "w1", 10'000, 6.1));
    results.cells.push_back(sample_cell("libevent", "w1", 10'000, 6.1));
    const Table table = claims(Findings(results));
    EXPECT_THAT(table.rows,
                ::testing::Contains(ElementsAre(HasSubstr("io_uring costs"), "×1.02", "yes")));
    EXPECT_THAT(table.rows,
                ::testing::Contains(ElementsAre(HasSubstr("×0.80 of libevent"), "×0.98", "no")));
    EXPECT_THAT(table.rows,
                ::testing::Contains(ElementsAre(HasSubstr("select refuses"), "held 1,012", "yes")));
    EXPECT_TRUE(claims(Findings(Results{})).empty());
}

TEST(Tables, WhatWasPublishedStandsBesideWhatWasMeasured) {
    const Table table = originals(Findings(sample_results()));
    EXPECT_EQ(table.rows.size(), 5U);
    EXPECT_THAT(table.rows[1][3], HasSubstr("w1: epoll 100k/s at 6.00 µs"));
    EXPECT_THAT(table.rows[1][3], HasSubstr("pool hung"));
    EXPECT_EQ(table.rows[2][3], "–");
}

TEST(Tables, AbsentEnginesAreNamed) {
    const Table table = absences(Findings(sample_results()));
    EXPECT_THAT(table.rows, ElementsAre(ElementsAre("caddy", "not installed"),
                                        ElementsAre("w3", "not there yet")));
    EXPECT_EQ(run_in_a_line(Findings(sample_results())), "6 servers, 3 workloads, 3 rounds");
}

// As axe wants it: a head without a text says nothing about its column.
TEST(Tables, NoHeadOfAColumnIsEmpty) {
    const Table table{.heads = {"", "CPU"}, .rows = {{"epoll", "1"}}, .is_number = {}};
    EXPECT_THAT(table_html(table), HasSubstr("<tr><td></td><th>CPU</th></tr>"));
}

TEST(Tables, NamesAreTextInEveryForm) {
    const Table table{.heads = {hostile}, .rows = {{hostile}}, .is_number = {true}};
    EXPECT_THAT(table_html(table), Not(HasSubstr("<b>")));
    EXPECT_THAT(table_markdown(table), Not(HasSubstr("<b>")));
    EXPECT_THAT(table_markdown(table), HasSubstr("\\|\\`&amp;'"));
}

}  // namespace
}  // namespace tiderace::lab::report

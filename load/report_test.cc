#include "load/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tiderace::load {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LoadReport good_report() {
    LoadReport report;
    report.options.url = "http://127.0.0.1:1/\"x\"";
    report.engine = "epoll";
    report.elapsed = 2s;
    report.own_cpu = 1s;
    LoadTally& tally = report.tally;
    tally.connections = tally.opened = tally.open_max = 100;
    tally.answers = 1'000;
    tally.per_connection_min = 9;
    tally.per_connection_max = 11;
    tally.reference = {.known = true, .length = 40, .hash = 0};
    for (int i = 0; i < 1'000; ++i) tally.latency.record(2ms);
    return report;
}

TEST(LoadReport, AnEchoIsNotReportedAsHttp) {
    LoadReport report = good_report();
    report.options.url = "echo://127.0.0.1:7";
    report.options.body_bytes = 40;
    const std::string table = load_table(report);
    EXPECT_TRUE(table.starts_with("echo://127.0.0.1:7: 100 connections, kept alive, 40 B each"))
        << table;
    EXPECT_THAT(table, Not(HasSubstr("HTTP")));
    EXPECT_THAT(table, Not(HasSubstr("status")));
    EXPECT_THAT(load_json(report), HasSubstr(R"("method":"")"));
    EXPECT_THAT(load_json(report), HasSubstr(R"("http":"")"));
}

// Each loop counts its own, and their maxima need not fall together.
TEST(LoadReport, ConnectionsOpenAtOneTimeAreABoundWhereLoopsAreAddedUp) {
    LoadReport report = good_report();
    report.threads = 4;
    EXPECT_THAT(load_table(report),
                HasSubstr("at most 100 at one time (each loop's most, added up)\n"));
    report.tally.open_max = 99;
    EXPECT_THAT(load_table(report),
                HasSubstr("at most 99 of 100 connections were open at one time"));
    report.threads = 1;
    EXPECT_THAT(load_table(report), HasSubstr("only 99 of 100 connections"));
}

// Its connections were opened first, and the server was watched from then on.
TEST(LoadReport, TheServersUseIsOfTheAnswersThatWereWatched) {
    LoadReport report = good_report();
    report.server = ServerUse{.cpu = 500ms, .memory_bytes = 3'000'000, .processes = 1};
    report.answers_before_server = 500;
    report.elapsed_before_server = 1s;
    EXPECT_THAT(load_table(report), HasSubstr("1000.00 µs of CPU per answer, 50 % of a CPU, "));
    EXPECT_THAT(load_json(report), HasSubstr(R"("cpu_us_per_answer":1000.000)"));
    // A process that died took answers with it that had been seen.
    report.answers_before_server = 2'000;
    report.elapsed_before_server = 3s;
    EXPECT_THAT(load_table(report), HasSubstr("  server       3.00 MB of memory"));
}

TEST(LoadReport, WhatAllProcessesTookWithThemHasNoShare) {
    LoadReport report;
    report.options.url = "http://127.0.0.1:1/";
    report.processes = report.lost = report.threads = 2;
    report.server = ServerUse{.cpu = 500ms, .memory_bytes = 3'000'000, .processes = 1};
    const std::string table = load_table(report);
    EXPECT_THAT(table, Not(HasSubstr("inf")));
    EXPECT_THAT(table, HasSubstr("  server       3.00 MB of memory, 1 process\n"));
    EXPECT_THAT(table, HasSubstr(", 2 loops\n")) << "no loop said which engine it has";
}

TEST(LoadReport, TellsTheFigures) {
    LoadReport report = good_report();
    report.server = ServerUse{.cpu = 500ms, .memory_bytes = 3'000'000, .processes = 2};
    EXPECT_TRUE(all_right(report));
    EXPECT_TRUE(warnings(report).empty());
    const std::string table = load_table(report);
    EXPECT_THAT(table, HasSubstr("1,000 right in 2.00 s: 500/s"));
    EXPECT_THAT(table, HasSubstr("p99 2.00 ms"));
    EXPECT_THAT(table, HasSubstr("100 requested, 100 opened, at most 100 at one time\n"));
    EXPECT_THAT(table, HasSubstr("9 to 11 answered per connection, 0 starved"));
    EXPECT_THAT(table,
                HasSubstr("500.00 µs of CPU per answer, 25 % of a CPU, 3.00 MB of memory, 2"));
    EXPECT_THAT(table, HasSubstr("1000.00 µs of CPU per answer, busiest loop 0 %"));
    EXPECT_THAT(table, Not(HasSubstr("note:")));
}

TEST(LoadReport, WithoutARightAnswerThereAreNoFiguresOfOne) {
    LoadReport report = good_report();
    report.tally.answers = 0;
    report.tally.latency = {};
    report.tally.reference = {};
    report.server = ServerUse{.cpu = 500ms, .memory_bytes = 3'000'000, .processes = 1};
    const std::string table = load_table(report);
    EXPECT_THAT(table, HasSubstr("expected     status 200\n"));
    EXPECT_THAT(table, Not(HasSubstr("latency")));
    EXPECT_THAT(table, Not(HasSubstr("per answer")));
    EXPECT_THAT(table, HasSubstr("25 % of a CPU"));
}

TEST(LoadReport, JsonIsEscapedAndComplete) {
    const std::string json = load_json(good_report());
    EXPECT_THAT(json, HasSubstr(R"("url":"http://127.0.0.1:1/\"x\"")"));
    EXPECT_THAT(json, HasSubstr(R"("answers":1000)"));
    EXPECT_THAT(json, HasSubstr(R"("latency_ns":{"count":1000,"min":2000000,"mean":2000000)"));
    EXPECT_THAT(json, HasSubstr(R"("max":2000000,"histogram":[[2000000,1000]]})"));
    EXPECT_THAT(json, HasSubstr(R"("slow_latency_ns":{"count":0)"));
    EXPECT_THAT(json, HasSubstr(R"("closed early":0)"));
    EXPECT_THAT(json, HasSubstr(R"({"schema":1,)"));
    EXPECT_THAT(json, HasSubstr(R"("requests_min":9,"requests_max":11)"));
    EXPECT_THAT(json, HasSubstr(R"("ok":true)"));
    EXPECT_THAT(json, Not(HasSubstr("\"server\"")));
}

TEST(LoadReport, NothingWrongIsPassedOver) {
    const struct {
        void (*spoil)(LoadReport&);
        const char* said;
        bool right;
    } cases[] = {
        {[](LoadReport& r) { r.tally.error(LoadError::wrong_length) = 2; }, "2 wrong length",
         false},
        {[](LoadReport& r) { r.tally.error(ConnectError::refused) = 3; }, "3 refused", false},
        {[](LoadReport& r) { r.tally.references_differ = true; }, "two loops differ", false},
        {[](LoadReport& r) { r.tally.answers = 0; }, "no request was answered", false},
        {[](LoadReport& r) { r.tally.open_max = 99; }, "only 99 of 100 connections", true},
        {[](LoadReport& r) { r.tally.starved = 5; }, "5 connections got no right answer", true},
        {[](LoadReport& r) { r.tally.never_sent = 5; }, "5 requests were due", true},
        {[](LoadReport& r) { r.busiest_loop = 0.95; }, "the load itself was the bottleneck", true},
        {[](LoadReport& r) { r.interrupted = true; }, "(interrupted)", true},
        {[](LoadReport& r) { r.notes.push_back("the limit is low"); }, "the limit is low", true},
    };
    for (const auto& each : cases) {
        LoadReport report = good_report();
        each.spoil(report);
        EXPECT_THAT(load_table(report), HasSubstr(each.said));
        EXPECT_EQ(all_right(report), each.right) << each.said;
    }
}

}  // namespace
}  // namespace tiderace::load

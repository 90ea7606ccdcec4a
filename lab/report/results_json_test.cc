#include "lab/report/results_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "lab/report/sample_fixture.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::lab::report {
namespace {

using ::testing::HasSubstr;

TEST(ResultsJson, WhatIsWrittenIsReadTheSame) {
    Results results = sample_results();
    results.cells[0].errors = {{"reset", 3}};
    results.cells[0].slow_latency = {{0.5, 7}};
    results.cells[0].notes = {"a note"};
    const auto back = parse_results(results_json(results));
    ASSERT_TRUE(back) << back.error();
    EXPECT_EQ(*back, results);
}

TEST(ResultsJson, AnotherFormatIsRefusedBySentence) {
    const std::string good = results_json(sample_results());
    const auto refused = [&](std::string_view what, std::string_view instead) {
        std::string text = good;
        text.replace(text.find(what), what.size(), instead);
        const auto results = parse_results(text);
        return results ? std::string("accepted") : results.error();
    };
    EXPECT_THAT(refused("\"format_version\":1", "\"format_version\":2"),
                HasSubstr("version 2; this program reads version 1"));
    EXPECT_THAT(refused("tiderace-lab-results", "other"), HasSubstr("not the results of a run"));
    EXPECT_THAT(refused("\"state\":\"hung\"", "\"state\":\"mad\""), HasSubstr("\"mad\""));
    EXPECT_THAT(parse_results("{").error(), HasSubstr("not JSON"));
    EXPECT_THAT(parse_results("[]").error(), HasSubstr("not the results of a run"));
}

TEST(ResultsJson, WhatIsNotJsonIsRefusedAtEveryCut) {
    for (const std::string_view text :
         {"", "nul", "inf", "nan", "-", "+1", "1e999", "[1,]", "[1 2]", "{\"a\"}", "{a:1}",
          "{\"a\":1,}", "{\"a\" 2}", "\"\\x\"", "\"\\u12\"", "\"a\nb\"", "\"\xff\"", "1 2", "]"}) {
        const auto results = parse_results(text);
        ASSERT_FALSE(results) << text;
        EXPECT_THAT(results.error(), HasSubstr("not JSON: ")) << text;
    }
    const std::string whole = results_json(sample_results());
    ASSERT_TRUE(parse_results(whole));
    for (std::size_t cut = 0; cut + 1 < whole.size(); ++cut) {
        EXPECT_FALSE(parse_results(std::string_view(whole).substr(0, cut))) << cut;
    }
}

TEST(ResultsJson, DepthIsBounded) {
    EXPECT_THAT(parse_results(std::string(100'000, '[')).error(), HasSubstr("not JSON: "));
    const std::string deep = std::string(100, '[') + std::string(100, ']');
    EXPECT_THAT(parse_results(deep).error(), HasSubstr("too deep"));
}

TEST(ResultsJson, WhatIsNotThereOrOfAnotherKindIsTheDefault) {
    const std::string_view head = R"({"format":"tiderace-lab-results","format_version":1)";
    EXPECT_EQ(*parse_results(std::string(head) + "}"), Results{});
    const auto odd = parse_results(std::string(head) + R"(,"date":7,"rounds":"x","quick":1,
        "machine":[],"notes":{"a":1},"subjects":[{}],"workloads":[{"connections":[-3,"x",2.0]}],
        "cells":[{"state":"ok","errors":{"reset":-1},"latency_us":[[1],[0.5,7],3]}],"later":{}})");
    ASSERT_TRUE(odd) << odd.error();
    EXPECT_EQ(odd->date, "");
    EXPECT_EQ(odd->rounds, 0U);
    EXPECT_FALSE(odd->quick);
    EXPECT_EQ(odd->machine, Machine{});
    EXPECT_TRUE(odd->notes.empty());
    EXPECT_EQ(odd->subjects, std::vector<Subject>{Subject{}});
    EXPECT_EQ(odd->workloads[0].measure, "cpu_us");
    EXPECT_EQ(odd->workloads[0].connections, (std::vector<std::uint64_t>{0, 0, 2}));
    EXPECT_EQ(odd->cells[0].errors[0].second, 0U);
    EXPECT_EQ(odd->cells[0].latency, (std::vector<LatencyPoint>{{0.5, 7}}));
}

TEST(ResultsJson, SpaceAndEscapesAreUnderstood) {
    const auto results = parse_results(
        " {\r\n\t\"format\" : \"tiderace-lab-results\" , \"format_version\":1,\n"
        R"("command":"\u0041\u00e9\u6f6e\ud83c\udf0a\/\b"} )");
    ASSERT_TRUE(results) << results.error();
    EXPECT_EQ(results->command, "Aé潮🌊/\b");
}

TEST(ResultsJson, EveryStateHasAName) {
    for (int i = 0; i <= static_cast<int>(CellState::died); ++i) {
        const auto state = static_cast<CellState>(i);
        EXPECT_EQ(cell_state(to_string(state)), state);
    }
    EXPECT_FALSE(cell_state("fine"));
}

TEST(ResultsJson, AFileIsWholeOrSaysWhatIsWrong) {
    const tiderace::testing::TemporaryFolder folder;
    const std::string place = folder.path() + "/a/b";
    EXPECT_THAT(read_results(place).error(), HasSubstr("tiderace lab run --out"));
    ASSERT_TRUE(write_file(place, results_name, results_json(sample_results())));
    const auto back = read_results(place);
    ASSERT_TRUE(back) << back.error();
    EXPECT_EQ(*back, sample_results());
    ASSERT_TRUE(write_file(place, results_name, "{\"cut"));
    EXPECT_THAT(read_results(place).error(), HasSubstr("results.json: not JSON"));
    ASSERT_TRUE(write_file(place, results_name, ""));
    std::filesystem::resize_file(place + "/results.json", results_bytes_max + 1);  // a hole
    EXPECT_THAT(read_results(place).error(), HasSubstr("longer than"));
    EXPECT_FALSE(write_file("/proc/none", "x", "y"));
}

TEST(ResultsJson, AFileThatCannotBePutInItsPlaceLeavesNothingBeside) {
    const tiderace::testing::TemporaryFolder folder;
    std::filesystem::create_directory(folder.path_of("index.html"));
    const auto written = write_file(folder.path(), "index.html", "<!doctype html>");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message(), HasSubstr("index.html: "));
    EXPECT_THAT(written.error().message(), HasSubstr("directory"));
    EXPECT_FALSE(std::filesystem::exists(folder.path_of("index.html.new")));
}

TEST(ResultsJson, WhetherAFolderTakesAReportIsKnownBefore) {
    const tiderace::testing::TemporaryFolder folder;
    const std::string place = folder.path() + "/a";
    EXPECT_TRUE(try_folder(place));
    EXPECT_TRUE(std::filesystem::is_empty(place));
    ASSERT_TRUE(write_file(folder.path(), "file", ""));
    EXPECT_FALSE(try_folder(folder.path() + "/file"));
    EXPECT_FALSE(try_folder("/proc/none"));
}

TEST(ResultsJson, AFolderThatIsTriedKeepsItsFiles) {
    const tiderace::testing::TemporaryFolder folder;
    for (const std::string name : {"room", "notes", "results.json"}) folder.write(name, "mine");
    EXPECT_TRUE(try_folder(folder.path()));
    for (const std::string name : {"room", "notes", "results.json"}) {
        std::string words;
        std::ifstream(folder.path_of(name)) >> words;
        EXPECT_EQ(words, "mine") << name;
    }
}

}  // namespace
}  // namespace tiderace::lab::report

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
    results.cells[0].slow_latency_us = {{0.5, 7}};
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

TEST(ResultsJson, WhatIsNotJsonIsRefused) {
    for (const std::string_view text : {"", "nul", "[1,]", "{\"a\"}", "\"\xff\"", "1 2"}) {
        const auto results = parse_results(text);
        ASSERT_FALSE(results) << text;
        EXPECT_THAT(results.error(), HasSubstr("not JSON: ")) << text;
    }
    const std::string deep = std::string(100, '[') + std::string(100, ']');
    EXPECT_THAT(parse_results(deep).error(), HasSubstr("not JSON: "));
}

constexpr std::string_view head = R"({"format":"tiderace-lab-results","format_version":1)";

TEST(ResultsJson, WhatIsNotThereIsTheDefaultAndWhatIsUnknownIsIgnored) {
    EXPECT_EQ(*parse_results(std::string(head) + "}"), Results{});
    const auto old = parse_results(std::string(head) + R"(,"later":{},"subjects":[{}],
        "workloads":[{"connections":[2]}],"cells":[{"state":"skipped"}]})");
    ASSERT_TRUE(old) << old.error();
    EXPECT_EQ(old->subjects, std::vector<Subject>{Subject{}});
    EXPECT_EQ(old->workloads[0].measure, "cpu_us");
    EXPECT_EQ(old->cells[0].state, CellState::skipped);
}

TEST(ResultsJson, WhatIsOfAnotherKindIsRefusedByItsPlace) {
    const auto odd = parse_results(std::string(head) + R"(,"cells":[{"round":-1}]})");
    ASSERT_FALSE(odd);
    EXPECT_THAT(odd.error(), HasSubstr("cells[0].round: expected an integer"));
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

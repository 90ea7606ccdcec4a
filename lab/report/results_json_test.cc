#include "lab/report/results_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    EXPECT_FALSE(write_file("/proc/none", "x", "y"));
}

}  // namespace
}  // namespace tiderace::lab::report

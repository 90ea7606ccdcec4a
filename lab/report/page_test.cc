#include "lab/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lab/report/markdown.h"
#include "lab/report/published.h"
#include "lab/report/report.h"
#include "lab/report/results_json.h"
#include "lab/report/sample_fixture.h"
#include "lab/report/story.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::lab::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Page, DescribesEveryServerAndLoadsNothing) {
    const std::string html = page(Findings(sample_results()));
    for (const char* text :
         {"epoll", "select", "pool", "nginx", "held 1,012", "hung", "wrong", "What epoll is.",
          "not installed", "A processor", "tiderace load", "a note with &lt;i&gt;"}) {
        EXPECT_THAT(html, HasSubstr(text));
    }
    for (const char* text :
         {"<script", "http://", "url(", "@import", "src=", "nan", "<b>\"x\"", "<i>markup"}) {
        EXPECT_THAT(html, Not(HasSubstr(text)));
    }
}

TEST(Page, OnlyLinksLeadElsewhere) {
    const std::string html = page(Findings(sample_results()));
    std::size_t links = 0;
    for (std::size_t at = html.find("https://"); at != html.npos;
         at = html.find("https://", at + 1)) {
        EXPECT_EQ(html.substr(at - 9, 9), "<a href=\"");
        ++links;
    }
    EXPECT_EQ(links, published().size()) << "each published figure has its source";
    EXPECT_THAT(html, HasSubstr("1,013 connections"));
}

TEST(Page, BeginsWithARecommendation) {
    Results results = sample_results();
    const std::string html = page(Findings(results));
    const std::size_t at = html.find("Recommendation: keep the default, epoll: ");
    ASSERT_NE(at, html.npos);
    EXPECT_LT(at, html.find("<nav>"));
    EXPECT_EQ(page(Findings(Results{})).find("Recommendation"), std::string::npos);
    EXPECT_THAT(markdown(Findings(results)), HasSubstr("**Recommendation: keep the default"));
    for (Cell& cell : results.cells) {
        if (cell.subject == "epoll") cell.cpu_us *= 10;
        if (cell.subject == "select") cell.state = CellState::ok;
    }
    EXPECT_THAT(story::recommendation(Findings(results)),
                HasSubstr("serve with --engine select: 12.0 µs"));
}

TEST(Page, RecommendsNoEngineThatOnlyTheLabHas) {
    Results results = sample_results();
    for (Cell& cell : results.cells) {
        if (cell.subject != "pool" || cell.workload != "w1") continue;
        cell = sample_cell("pool", "w1", 10'000, 1.5);
    }
    const std::string text = story::recommendation(Findings(results));
    EXPECT_THAT(text, HasSubstr("keep the default, epoll"));
    EXPECT_THAT(text, Not(HasSubstr("--engine pool")));
    EXPECT_THAT(text, HasSubstr("pool, which tiderace serve does not have, takes 1.50 µs"));
}

TEST(Page, EveryPlaceOfItsContentsIsThere) {
    for (const Findings& findings : {Findings(sample_results()), Findings(Results{})}) {
        const std::string html = page(findings);
        EXPECT_THAT(html, HasSubstr("</html>"));
        for (const auto& [id, _] : story::contents(findings)) {
            EXPECT_THAT(html, HasSubstr("id=\"" + std::string(id) + "\"")) << id;
        }
    }
}

TEST(Markdown, HoldsTheSameTables) {
    const std::string text = markdown(Findings(sample_results()));
    for (const char* piece : {"| epoll | ×1.50 |", "| select | ×3.00\\* |",
                              "| caddy | not installed |", "> a note with &lt;i\\>markup"}) {
        EXPECT_THAT(text, HasSubstr(piece));
    }
    EXPECT_THAT(text, Not(HasSubstr("<b>")));
    EXPECT_THAT(markdown(Findings(Results{})), HasSubstr("# One load"));
}

TEST(Report, WritesBothPagesBesideTheResults) {
    const tiderace::testing::TemporaryFolder folder;
    EXPECT_EQ(report({folder.path()}), 1);
    ASSERT_TRUE(write_file(folder.path(), results_name, results_json(sample_results())));
    EXPECT_EQ(report({folder.path()}), 0);
    std::ostringstream written;
    written << std::ifstream(folder.path_of("index.html")).rdbuf();
    EXPECT_EQ(written.str(), page(Findings(sample_results())));
    EXPECT_TRUE(std::ifstream(folder.path_of("report.md")).good());
}

}  // namespace
}  // namespace tiderace::lab::report

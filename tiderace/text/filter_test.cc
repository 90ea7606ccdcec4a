#include "tiderace/text/filter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tiderace/template.h"

namespace tiderace::text {
namespace {

struct Filtered {
    std::string text = "  some Words ";
    std::string long_text = "äöü €uro 12";
    double number = 3.14159;
    int whole = 7;
    std::vector<std::string> list = {"a", "b", "c"};
    std::vector<int> empty = {};
    std::chrono::sys_seconds at{std::chrono::seconds(1'795'343'405)};
};

TEST(Filter, MakesWhatItsNameSays) {
    struct Row {
        std::string expression;
        std::string expected;
    };
    for (const auto& [expression, expected] : {
             Row{"text | upper", "  SOME WORDS "},
             Row{"text | lower", "  some words "},
             Row{"'@AZ[`az{' | lower", "@az[`az{"},
             Row{"'@AZ[`az{' | upper", "@AZ[`AZ{"},
             Row{"text | trim", "some Words"},
             Row{"text | trim | capitalize", "Some Words"},
             Row{"whole | upper", "7"},
             Row{"long_text | truncate: 4", "äöü…"},
             Row{"long_text | truncate: 11", "äöü €uro 12"},
             Row{"long_text | truncate: 1", "…"},
             Row{"long_text | replace: ' ', '__'", "äöü__€uro__12"},
             Row{"\"aaa\" | replace: 'aa', 'b'", "ba"},
             Row{"\"\" | default: \"none\"", "none"},
             Row{"whole | default: \"none\"", "7"},
             Row{"absent | default: whole | upper", "7"},
             Row{"list | length", "3"},
             Row{"long_text | length", "11"},
             Row{"list | first", "a"},
             Row{"list | last | upper", "C"},
             Row{"empty | first", ""},
             Row{"empty | last | default: 'none'", "none"},
             Row{"list | join: ', '", "a, b, c"},
             Row{"empty | join: ', '", ""},
             Row{"number | fixed: 2", "3.14"},
             Row{"whole | fixed: 1", "7.0"},
             Row{"nothing | fixed: 1", ""},
             Row{"nothing | date: '%Y'", ""},
             Row{"nothing | join: ','", ""},
             Row{"at | date: \"%Y-%m-%d %H:%M:%S %y %e %j %B %b %A %a %%\"",
                 "2026-11-22 10:30:05 26 22 326 November Nov Sunday Sun %"},
             Row{"'a b/ü' | urlencode", "a%20b%2F%C3%BC"},
         }) {
        const auto made = Template::compile("t", "{{ " + expression + " }}", {.mode = Mode::plain});
        ASSERT_TRUE(made) << made.error().message();
        std::string out;
        const auto done = made->render(out, Filtered{});
        EXPECT_TRUE(done) << done.error().message();
        EXPECT_EQ(out, expected) << expression;
    }
}

// A text of 64 KiB and a replacement of 64 KiB would be 4 GiB before the renderer saw any of it.
TEST(Filter, WhatGrowsStopsBehindTheLimitOfTheOutput) {
    constexpr std::size_t limit = 1'000;
    const std::string many(100, 'a');
    const std::string piece(100, 'b');
    const std::vector<std::string> list(100, piece);
    const auto bytes_made = [&](std::string_view name, Ref value, std::vector<Ref> arguments) {
        Scratch scratch;
        std::string problem;
        apply_filter(*find_filter(filters_in_the_box(), name), {.value = value,
                                                                .arguments = arguments,
                                                                .scratch = scratch,
                                                                .problem = problem,
                                                                .bytes_max = limit});
        EXPECT_EQ(problem, "") << name;
        return scratch.text.size();
    };
    const std::string a = "a";
    const std::string c = "c";
    const Ref long_piece = {&string_type, &piece};
    for (const std::size_t bytes :
         {bytes_made("replace", {&string_type, &many}, {{&string_type, &a}, long_piece}),
          bytes_made("join", {&type_of<std::vector<std::string>>, &list}, {{&string_type, &c}}),
          bytes_made("join", {&type_of<std::vector<std::string>>, &list}, {long_piece})}) {
        EXPECT_GT(bytes, limit);  // so that the renderer reports it
        EXPECT_LE(bytes, limit + 2 * piece.size());
    }
}

TEST(Filter, IsFoundByItsName) {
    EXPECT_EQ(find_filter(filters_in_the_box(), "join")->arguments, 1u);
    EXPECT_EQ(find_filter(filters_in_the_box(), "shout"), nullptr);
    for (const Filter& filter : filters_in_the_box()) {
        EXPECT_NE(filter.apply, nullptr) << filter.name;
        EXPECT_LE(filter.arguments, filter_arguments_max) << filter.name;
    }
}

}  // namespace
}  // namespace tiderace::text

#include "tiderace/http/wire/conditional.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

constexpr ByteView hour_before = "Sun, 06 Nov 1994 07:49:37 GMT";
constexpr ByteView same_time = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr ByteView same_time_rfc850 = "Sunday, 06-Nov-94 08:49:37 GMT";
constexpr ByteView same_time_asctime = "Sun Nov  6 08:49:37 1994";
constexpr ByteView hour_after = "Sun, 06 Nov 1994 09:49:37 GMT";

const Validators file{EntityTag{false, "\"now\""}, 784'111'777, 1'767'225'600};
const Validators weak_page{EntityTag{true, "\"now\""}, std::nullopt, 1'767'225'600};
const Validators bare{std::nullopt, std::nullopt, 1'767'225'600};

constexpr auto proceed = Precondition::proceed;
constexpr auto not_modified = Precondition::not_modified;
constexpr auto failed = Precondition::failed;

struct ConditionalCase {
    Conditions conditions;
    Precondition get, put;
};

void expect_outcomes(std::initializer_list<ConditionalCase> cases, const Validators& validators) {
    int number = 0;
    for (const ConditionalCase& c : cases) {
        EXPECT_EQ(evaluate(c.conditions, validators, true), c.get) << "case " << number;
        EXPECT_EQ(evaluate(c.conditions, validators, false), c.put) << "case " << number;
        ++number;
    }
}

TEST(Conditional, WithoutConditionsItProceeds) {
    EXPECT_FALSE(Conditions{}.any());
    expect_outcomes({{{}, proceed, proceed}}, file);
    expect_outcomes({{{}, proceed, proceed}}, bare);
}

TEST(Conditional, IfMatchNeedsTheSameStrongTag) {
    expect_outcomes({{{.if_match = "\"now\""}, proceed, proceed},
                     {{.if_match = "\"old\", \"now\""}, proceed, proceed},
                     {{.if_match = "*"}, proceed, proceed},
                     {{.if_match = "\"old\""}, failed, failed},
                     {{.if_match = "W/\"now\""}, failed, failed},
                     {{.if_match = "now"}, failed, failed}},
                    file);
    expect_outcomes(
        {{{.if_match = "\"now\""}, failed, failed}, {{.if_match = "*"}, proceed, proceed}},
        weak_page);
}

TEST(Conditional, IfUnmodifiedSinceFailsWhenItChangedLater) {
    expect_outcomes({{{.if_unmodified_since = hour_before}, failed, failed},
                     {{.if_unmodified_since = same_time}, proceed, proceed},
                     {{.if_unmodified_since = hour_after}, proceed, proceed},
                     {{.if_unmodified_since = "yesterday"}, proceed, proceed}},
                    file);
    expect_outcomes({{{.if_unmodified_since = hour_before}, proceed, proceed}}, bare);
}

TEST(Conditional, IfMatchOverrulesIfUnmodifiedSince) {
    expect_outcomes(
        {{{.if_match = "\"now\"", .if_unmodified_since = hour_before}, proceed, proceed},
         {{.if_match = "\"old\"", .if_unmodified_since = hour_after}, failed, failed}},
        file);
}

TEST(Conditional, IfNoneMatchComparesWeakly) {
    expect_outcomes({{{.if_none_match = "\"now\""}, not_modified, failed},
                     {{.if_none_match = "W/\"now\""}, not_modified, failed},
                     {{.if_none_match = "\"old\", W/\"now\""}, not_modified, failed},
                     {{.if_none_match = "*"}, not_modified, failed},
                     {{.if_none_match = "\"old\""}, proceed, proceed},
                     {{.if_none_match = "now"}, proceed, proceed}},
                    file);
    expect_outcomes({{{.if_none_match = "\"now\""}, not_modified, failed}}, weak_page);
    expect_outcomes({{{.if_none_match = "\"now\""}, proceed, proceed}}, bare);
}

TEST(Conditional, IfModifiedSinceIsForGetAndHead) {
    expect_outcomes({{{.if_modified_since = hour_before}, proceed, proceed},
                     {{.if_modified_since = same_time}, not_modified, proceed},
                     {{.if_modified_since = same_time_rfc850}, not_modified, proceed},
                     {{.if_modified_since = same_time_asctime}, not_modified, proceed},
                     {{.if_modified_since = hour_after}, not_modified, proceed},
                     {{.if_modified_since = "Sun, 06 Nov 1994"}, proceed, proceed},
                     {{.if_modified_since = "0"}, proceed, proceed}},
                    file);
    expect_outcomes({{{.if_modified_since = hour_after}, proceed, proceed}}, bare);
}

TEST(Conditional, IfNoneMatchOverrulesIfModifiedSince) {
    expect_outcomes(
        {{{.if_none_match = "\"old\"", .if_modified_since = hour_after}, proceed, proceed},
         {{.if_none_match = "\"now\"", .if_modified_since = hour_before}, not_modified, failed}},
        file);
}

TEST(Conditional, AFailedExpectationWinsOverNotModified) {
    expect_outcomes(
        {{{.if_match = "\"old\"", .if_none_match = "\"now\""}, failed, failed},
         {{.if_match = "\"now\"", .if_none_match = "\"now\""}, not_modified, failed},
         {{.if_modified_since = hour_after, .if_unmodified_since = hour_before}, failed, failed}},
        file);
}

TEST(Conditional, IfRangeNeedsTheSameStrongTagOrTheExactDate) {
    for (const ByteView value : {ByteView("\"now\""), same_time, same_time_rfc850}) {
        EXPECT_TRUE(if_range_matches(value, file)) << value;
    }
    for (const ByteView value :
         {ByteView("\"old\""), ByteView("W/\"now\""), ByteView("now"), ByteView("\"old\", \"now\""),
          ByteView("*"), ByteView(""), hour_before, hour_after}) {
        EXPECT_FALSE(if_range_matches(value, file)) << value;
    }
    EXPECT_FALSE(if_range_matches("W/\"now\"", weak_page));
    EXPECT_FALSE(if_range_matches("\"now\"", weak_page));
    EXPECT_FALSE(if_range_matches(same_time, weak_page));
    EXPECT_FALSE(if_range_matches("\"now\"", bare));
}

}  // namespace
}  // namespace tiderace::http::wire

#include "tiderace/http/wire/refusal.h"

#include <gtest/gtest.h>

#include <set>

#include "tiderace/http/wire/status.h"

namespace tiderace::http::wire {
namespace {

TEST(Refusal, EachHasAClientErrorOrServerErrorStatusAndASentence) {
    std::set<std::string_view> names;
    for (std::size_t i = 1; i < refusals; ++i) {
        const auto refusal = static_cast<Refusal>(i);
        EXPECT_GE(status_of(refusal), 400) << to_string(refusal);
        EXPECT_NE(reason_phrase(status_of(refusal)), "") << to_string(refusal);
        EXPECT_TRUE(explain(refusal).ends_with('.')) << to_string(refusal);
        EXPECT_TRUE(names.insert(to_string(refusal)).second) << to_string(refusal);
    }
}

TEST(Refusal, NoneIsNoAnswer) {
    EXPECT_EQ(status_of(Refusal::none), 0);
    EXPECT_EQ(explain(Refusal::none), "");
}

TEST(Refusal, TheStatusesAreThoseOfTheRfc) {
    EXPECT_EQ(status_of(Refusal::length_and_chunked), 400);
    EXPECT_EQ(status_of(Refusal::body_too_large), 413);
    EXPECT_EQ(status_of(Refusal::target_too_long), 414);
    EXPECT_EQ(status_of(Refusal::unknown_expectation), 417);
    EXPECT_EQ(status_of(Refusal::too_many_fields), 431);
    EXPECT_EQ(status_of(Refusal::head_too_large), 431);
    EXPECT_EQ(status_of(Refusal::unknown_transfer_coding), 501);
    EXPECT_EQ(status_of(Refusal::method_too_long), 501);
    EXPECT_EQ(status_of(Refusal::unsupported_version), 505);
}

}  // namespace
}  // namespace tiderace::http::wire

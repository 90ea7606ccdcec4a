#include "tiderace/http/wire/h2/priority.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::wire {
namespace {

TEST(H2Priority, ReadsWhatItKnowsAndPassesOverTheRest) {
    struct Case {
        ByteView value;
        H2Priority priority;
    };
    const Case cases[] = {
        {"", {3, false}},
        {"u=0", {0, false}},
        {"u=7", {7, false}},
        {"i", {3, true}},
        {"u=5, i", {5, true}},
        {"  u=5\t,\ti  ", {5, true}},
        {"i=?1", {3, true}},
        {"i=?0", {3, false}},
        {"i, u=1", {1, true}},
        // Out of range or of another type: as if it had not been said.
        {"u=8", {3, false}},
        {"u=-1", {3, false}},
        {"u=1.0", {3, false}},
        {"u", {3, false}},
        {"u=\"1\"", {3, false}},
        {"u=999999999999999, i", {3, true}},
        {"i=1, u=2", {2, false}},
        {"i=yes", {3, false}},
        // The last one counts.
        {"u=1, u=2", {2, false}},
        {"u=1, u=9", {3, false}},
        {"i, i=?0", {3, false}},
        // Parameters and members of other people.
        {"u=1;a;b=2;c=\"x\", i;q", {1, true}},
        {"x=(1 \"two\" three;p=4), u=1", {1, false}},
        {"x=(), u=1", {1, false}},
        {"a=:aGk=:, b=@1659578233, c=*tok/en:x, d=-12.345, e=\"\\\"\\\\\", u=6", {6, false}},
        {"*key-1._=1, u=4", {4, false}},
        {"x=\" first and last of what a text may hold ~\", u=4", {4, false}},
    };
    for (const Case& c : cases) EXPECT_EQ(parse_h2_priority(c.value), c.priority) << c.value;
}

TEST(H2Priority, WhatIsNoDictionarySaysNothing) {
    const ByteView values[] = {
        "u=1,",
        "u=1,,i",
        ",u=1",
        "u=1 i",
        "u=",
        "u =1",
        "u= 1",
        "U=1",
        "1=u",
        "u=1; ",
        "u=1;=2",
        "u=1,x=(1",
        "u=1,x=(1,2)",
        "u=1,x=\"",
        "u=1,x=\"\\a\"",
        "u=1,x=?2",
        "u=1,x=:a",
        "u=1,x=:!:",
        "u=1,x=-",
        "u=1,x=1.",
        "u=1,x=1.2345",
        "u=1,x=1234567890123456",
        "u=1,x=1234567890123.1",
        "u=1,x=@1.5",
        "u=1,x=@",
        "\x80",
        "u=1,\x80",
        "u=1,x=\"\x80\"",
        "u=1,x={}",
        "u=1,x=(1\"a\")",
    };
    for (const ByteView value : values) {
        EXPECT_EQ(parse_h2_priority(value), H2Priority()) << value;
    }
}

TEST(H2Priority, NeverReadsBeyondTheEnd) {
    const std::string value = "u=1;a=\"x\\\"y\", x=(1 ?1 :aGk=: tok @5 1.5;k), i=?1";
    EXPECT_EQ(parse_h2_priority(value), (H2Priority{1, true}));
    for (std::size_t size = 0; size < value.size(); ++size) {
        const std::string cut = value.substr(0, size);
        EXPECT_LE(parse_h2_priority(cut).urgency, 7);
    }
}

}  // namespace
}  // namespace tiderace::http::wire

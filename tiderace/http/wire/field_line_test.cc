#include "tiderace/http/wire/field_line.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;

// The answer for the whole, after every shorter piece gave the same or none.
FieldLine parse_at_every_split(ByteView bytes, std::size_t from) {
    FieldLine answer = parse_field_line(bytes.substr(0, from), from);
    for (std::size_t size = from; size <= bytes.size(); ++size) {
        const FieldLine now = parse_field_line(bytes.substr(0, size), from);
        if (answer.status != ParseStatus::need_more) {
            EXPECT_EQ(now.status, answer.status) << size;
            EXPECT_EQ(now.end, answer.end) << size;
            EXPECT_EQ(now.refusal, answer.refusal) << size;
        }
        answer = now;
    }
    return answer;
}

TEST(FieldLine, IsANameAColonAndATrimmedValue) {
    const FieldLine line = parse_at_every_split("xx\r\nX-Tide:\t high water \r\nmore", 4);
    ASSERT_EQ(line.status, ParseStatus::complete);
    EXPECT_EQ(line.name, "X-Tide");
    EXPECT_EQ(line.value, "high water");
    EXPECT_EQ(line.end, 26U);
    EXPECT_EQ(parse_at_every_split("a:\r\n", 0).value, "");
    EXPECT_EQ(parse_at_every_split("a: \t\r\n", 0).value, "");
}

TEST(FieldLine, IsRefusedTheSameAtEverySplit) {
    struct Case {
        std::string bytes;
        Refusal refusal;
    };
    const Case cases[] = {
        {" a: b\r\n", Refusal::obs_fold},
        {"\ta: b\r\n", Refusal::obs_fold},
        {"a : b\r\n", Refusal::space_before_colon},
        {": b\r\n", Refusal::bad_field_name},
        {"a\r\n", Refusal::bad_field_name},
        {"a\n", Refusal::bare_lf},
        {"\n", Refusal::bare_lf},
        {"a(: b\r\n", Refusal::bad_field_name},
        {"\0: b\r\n"s, Refusal::nul},
        {"a: \0\r\n"s, Refusal::nul},
        {"a: b\n", Refusal::bare_lf},
        {"a: b\r\r\n", Refusal::bare_cr},
        {"a: \x02\r\n", Refusal::bad_field_value},
    };
    for (const Case& c : cases) {
        const FieldLine line = parse_at_every_split(c.bytes, 0);
        EXPECT_EQ(line.status, ParseStatus::refused) << c.bytes;
        EXPECT_EQ(to_string(line.refusal), to_string(c.refusal)) << c.bytes;
    }
}

}  // namespace
}  // namespace tiderace::http::wire

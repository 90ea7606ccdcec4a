#include "tiderace/http/wire/h2/hpack_field.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;

TEST(HpackField, KnowsNamesAndPseudoFields) {
    EXPECT_EQ(judge_hpack_field("content-length", "1").id, FieldName::content_length);
    EXPECT_EQ(judge_hpack_field("x-own", "1").id, FieldName::other);
    EXPECT_EQ(judge_hpack_field("x-own", "1").pseudo, PseudoField::none);
    for (const PseudoField field :
         {PseudoField::authority, PseudoField::method, PseudoField::path, PseudoField::scheme,
          PseudoField::status, PseudoField::protocol}) {
        EXPECT_EQ(judge_hpack_field(to_string(field), "x").pseudo, field);
    }
    for (const ByteView name : {":", ":Path", ":paths", "::path", ":\x80"}) {
        EXPECT_EQ(judge_hpack_field(name, "x").pseudo, PseudoField::unknown);
    }
}

TEST(HpackField, NamesAreTokensInLowerCase) {
    for (int byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        const bool fits = is(token_byte, c) && !(c >= 'A' && c <= 'Z');
        for (const std::string& name : {"a"s + c, "a"s + c + "b", std::string(20, 'x') + c}) {
            const Refusal refusal = judge_hpack_field(name, "v").refusal;
            EXPECT_EQ(refusal == Refusal::none, fits) << byte;
        }
    }
    EXPECT_EQ(judge_hpack_field("", "v").refusal, Refusal::bad_field_name);
    EXPECT_EQ(judge_hpack_field("a:b", "v").refusal, Refusal::bad_field_name);
    EXPECT_EQ(judge_hpack_field("a\0"s, "v").refusal, Refusal::nul);
}

TEST(HpackField, ValuesHaveNoControlsAndNoSpaceAround) {
    for (int byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        for (const std::string& value : {"a"s + c + "b", std::string(20, 'x') + c + "y"}) {
            EXPECT_EQ(judge_field_value(value) == Refusal::none, is(value_byte, c)) << byte;
            EXPECT_EQ(judge_hpack_field(":path", value).refusal, judge_field_value(value));
        }
        const bool may_end = is(value_byte, c) && !is_ows(c);
        EXPECT_EQ(judge_field_value(c + "a"s) == Refusal::none, may_end) << byte;
        EXPECT_EQ(judge_field_value("a"s + c) == Refusal::none, may_end) << byte;
    }
    EXPECT_EQ(judge_field_value(""), Refusal::none);
    EXPECT_EQ(judge_field_value(" "), Refusal::bad_field_value);
    EXPECT_EQ(judge_field_value("a\rb"), Refusal::bare_cr);
    EXPECT_EQ(judge_field_value("a\nb"), Refusal::bare_lf);
    EXPECT_EQ(judge_field_value("a\0b"s), Refusal::nul);
}

}  // namespace
}  // namespace tiderace::http::wire

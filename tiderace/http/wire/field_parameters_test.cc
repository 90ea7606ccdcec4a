#include "tiderace/http/wire/field_parameters.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tiderace::http::wire {
namespace {

std::string shown_parameters(ByteView value) {
    FieldParameters parameters(value);
    std::string out = std::string(parameters.essence()) + "|";
    while (auto one = parameters.next()) {
        std::array<char, 100> memory;
        BoundedText text(memory);
        EXPECT_TRUE(append_unquoted(text, *one));
        out += std::string(one->name) + "=" + std::string(text.view()) + "|";
    }
    return out + (parameters.malformed() ? "malformed" : "");
}

TEST(FieldParameters, AreReadInOrder) {
    const struct {
        ByteView value;
        ByteView shown;
    } cases[] = {
        {"", "|"},
        {"text/plain", "text/plain|"},
        {" text/plain ; charset=utf-8", "text/plain|charset=utf-8|"},
        {"a;b=c;d=\"e f\"", "a|b=c|d=e f|"},
        {"a; b=\"\"", "a|b=|"},
        {"a;;  ; b=c ;", "a|b=c|"},
        {"a; b=\"x;y=z\"; c=d", "a|b=x;y=z|c=d|"},
        {"a; b=\"q\\\"q\\\\\"", "a|b=q\"q\\|"},
        {"a; f=\"C:\\dir\\file\"", "a|f=C:\\dir\\file|"},
    };
    for (const auto& one : cases) EXPECT_EQ(shown_parameters(one.value), one.shown) << one.value;
}

TEST(FieldParameters, WhatIsNoParameterEndsTheWalk) {
    for (const ByteView bad : {"a; b", "a; =c", "a; b=", "a; b=\"", "a; b=\"c", "a; b=\"c\\\"",
                               "a; b=c d=e", "a; b=\"c\"d", "a; b =c", "a; b= c"}) {
        const std::string shown = shown_parameters(bad);
        EXPECT_TRUE(shown.starts_with("a|") && shown.ends_with("malformed")) << bad << " " << shown;
    }
}

TEST(FieldParameters, AnUnquotedValueIsWholeOrAbsent) {
    FieldParameters parameters("a; b=\"12\\\"45\"");
    const auto one = parameters.next();
    ASSERT_TRUE(one);
    for (std::size_t room = 0; room < 6; ++room) {
        std::array<char, 8> memory;
        BoundedText text(std::span<char>(memory.data(), room));
        EXPECT_EQ(append_unquoted(text, *one), room >= 5);
        EXPECT_EQ(text.view(), room >= 5 ? "12\"45" : "");
    }
}

}  // namespace
}  // namespace tiderace::http::wire

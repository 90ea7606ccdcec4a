#include "server/config/toml_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tiderace::server::config {
namespace {

TEST(TomlText, AStringHasQuotesAndItsMarksBackslashes) {
    EXPECT_EQ(string_text(""), "\"\"");
    EXPECT_EQ(string_text("say \"a\\b\""), R"("say \"a\\b\"")");
    EXPECT_EQ(string_text(std::string_view("a\n\0\x1f\x7f", 5)), R"("a\u000a\u0000\u001f\u007f")");
    EXPECT_EQ(string_text("é"), "\"é\"");
}

TEST(TomlText, AKeyIsBareWhereItCanBe) {
    EXPECT_EQ(key_text("X-Frame_Options9"), "X-Frame_Options9");
    EXPECT_EQ(key_text(""), "\"\"");
    EXPECT_EQ(key_text("a.b"), "\"a.b\"");
    EXPECT_EQ(key_text("é"), "\"é\"");
}

}  // namespace
}  // namespace tiderace::server::config

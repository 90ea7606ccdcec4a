#include "examples/files/tus.h"

#include <gtest/gtest.h>

TEST(Tus, Base64IsReadStrictly) {
    const struct {
        std::string_view text;
        std::optional<std::string> bytes;
    } cases[] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"AP8=", std::string("\0\xFF", 2)},
        {"Zg", std::nullopt},
        {"Zg=", std::nullopt},
        {"Zh==", std::nullopt},
        {"Z===", std::nullopt},
        {"Z g=", std::nullopt},
        {"Zm9v====", std::nullopt},
        {"_-__", std::nullopt},
    };
    for (const auto& one : cases) EXPECT_EQ(tus::from_base64(one.text), one.bytes) << one.text;
}

TEST(Tus, MetadataIsFoundByItsKey) {
    const std::string_view value = "filename aGFyYm91ci5qcGc=,is_draft, filetype aW1hZ2UvanBlZw==";
    EXPECT_EQ(tus::metadata(value, "filename"), "harbour.jpg");
    EXPECT_EQ(tus::metadata(value, "filetype"), "image/jpeg");
    EXPECT_EQ(tus::metadata(value, "is_draft"), "");
    EXPECT_EQ(tus::metadata(value, "file"), std::nullopt);
    EXPECT_EQ(tus::metadata("", "filename"), std::nullopt);
    EXPECT_EQ(tus::metadata(",,, ", "filename"), std::nullopt);
    EXPECT_THROW(tus::metadata("filename !!", "filename"), tiderace::http::Problem);
}

TEST(Tus, DatesAreThoseOfHttp) {
    EXPECT_EQ(tus::http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

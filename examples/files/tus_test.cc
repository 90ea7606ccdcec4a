#include "examples/files/tus.h"

#include <gtest/gtest.h>

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

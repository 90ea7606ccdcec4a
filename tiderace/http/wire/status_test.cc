#include "tiderace/http/wire/status.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::wire {
namespace {

TEST(Status, LinesAreTheCodeAndThePhrase) {
    int registered = 0;
    for (int code = 100; code < 600; ++code) {
        const std::string phrase(reason_phrase(code));
        if (phrase.empty()) {
            EXPECT_EQ(status_line(code), "") << code;
            continue;
        }
        ++registered;
        EXPECT_EQ(status_line(code), "HTTP/1.1 " + std::to_string(code) + " " + phrase + "\r\n");
    }
    EXPECT_EQ(registered, 5 + 10 + 8 + 28 + 11);  // 1xx to 5xx at IANA; 306 and 418 are unused
}

TEST(Status, KnowsTheCodesThatAServerSends) {
    EXPECT_EQ(reason_phrase(200), "OK");
    EXPECT_EQ(reason_phrase(206), "Partial Content");
    EXPECT_EQ(reason_phrase(304), "Not Modified");
    EXPECT_EQ(reason_phrase(413), "Content Too Large");
    EXPECT_EQ(reason_phrase(431), "Request Header Fields Too Large");
    EXPECT_EQ(status_line(505), "HTTP/1.1 505 HTTP Version Not Supported\r\n");
}

TEST(Status, OtherNumbersHaveNoLine) {
    for (const int code : {-1, 0, 99, 299, 418, 600, 1000, 65536 + 200, -2147483647}) {
        EXPECT_EQ(status_line(code), "") << code;
        EXPECT_EQ(reason_phrase(code), "") << code;
    }
}

TEST(Status, SomeNeverHaveABody) {
    for (const int status : {100, 101, 103, 199, 204, 304}) EXPECT_TRUE(has_no_body(status));
    for (const int status : {200, 203, 205, 206, 303, 305, 404, 500}) {
        EXPECT_FALSE(has_no_body(status)) << status;
    }
}

}  // namespace
}  // namespace tiderace::http::wire

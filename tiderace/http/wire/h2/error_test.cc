#include "tiderace/http/wire/h2/error.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

TEST(H2Error, HasTheNumbersAndNamesOfTheRfc) {
    EXPECT_EQ(static_cast<int>(H2Error::no_error), 0x0);
    EXPECT_EQ(static_cast<int>(H2Error::stream_closed), 0x5);
    EXPECT_EQ(static_cast<int>(H2Error::enhance_your_calm), 0xb);
    EXPECT_EQ(static_cast<int>(H2Error::http_1_1_required), 0xd);
    EXPECT_EQ(to_string(H2Error::no_error), "NO_ERROR");
    EXPECT_EQ(to_string(H2Error::enhance_your_calm), "ENHANCE_YOUR_CALM");
    EXPECT_EQ(to_string(H2Error::http_1_1_required), "HTTP_1_1_REQUIRED");
    EXPECT_EQ(to_string(static_cast<H2Error>(14)), "");
    EXPECT_EQ(to_string(static_cast<H2Error>(0xffffffff)), "");
}

}  // namespace
}  // namespace tiderace::http::wire

#include "load/none_opened.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tiderace::load {
namespace {

using ::testing::HasSubstr;

struct NoneOpened : ::testing::Test {
    std::string why() const { return why_none_opened(*sum_, target_); }

    LoadTarget target_ = *parse_load_target("https://127.0.0.1:8443/");
    std::unique_ptr<LoadSum> sum_ = std::make_unique<LoadSum>();
};

TEST_F(NoneOpened, NothingIsLoggedWhenOneWasOpenedOrNoneWasTried) {
    EXPECT_EQ(why(), "");
    sum_->tally.error(ConnectError::refused) = 3;
    sum_->tally.opened = 1;
    EXPECT_EQ(why(), "");
}

TEST_F(NoneOpened, TheMostFrequentKindIsTheCause) {
    sum_->tally.error(ConnectError::reset) = 1;
    sum_->tally.error(ConnectError::refused) = 3;
    EXPECT_EQ(why(),
              "nothing listens on 127.0.0.1:8443 (connection refused): start the server, or "
              "correct the URL");
}

TEST_F(NoneOpened, EveryKindHasACause) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(ConnectError::count_); ++i) {
        sum_->tally.connect_errors = {};
        sum_->tally.connect_errors[i] = 1;
        EXPECT_NE(why(), "") << to_string(static_cast<ConnectError>(i));
    }
}

TEST_F(NoneOpened, AFailedHandshakeNamesTheFlagThatHelps) {
    sum_->tally.error(ConnectError::tls) = 2;
    const auto why_of = [&](tls::HandshakeFailure failure) {
        sum_->handshakes_failed = {};
        sum_->handshakes_failed[static_cast<std::size_t>(failure)] = 2;
        return why();
    };
    EXPECT_THAT(why_of(tls::HandshakeFailure::certificate), HasSubstr("--ca FILE"));
    EXPECT_THAT(why_of(tls::HandshakeFailure::certificate), HasSubstr("--insecure"));
    EXPECT_THAT(why_of(tls::HandshakeFailure::not_tls), HasSubstr("use http://"));
    EXPECT_THAT(why_of(tls::HandshakeFailure::bad_message), HasSubstr("failed ("));
}

}  // namespace
}  // namespace tiderace::load

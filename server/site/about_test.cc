#include "server/site/about.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/version.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/transport.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::server {
namespace {

class AboutTest : public ::testing::Test {
  protected:
    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    About about_{"epoll", 3};
    core::Ref<testing::RecordedExchange> exchange_;
};

TEST_F(AboutTest, SaysVersionEngineAndLoops) {
    exchange_ = core::make_ref<testing::RecordedExchange>(*loop_, "GET", About::path);
    about_.handle(*exchange_);
    EXPECT_EQ(exchange_->status(), 200);
    EXPECT_EQ(exchange_->header("Content-Type"), "application/json");
    EXPECT_EQ(exchange_->header("Cache-Control"), "no-store");
    EXPECT_EQ(exchange_->body(), "{\"version\":\"" + std::string(version()) +
                                     "\",\"engine\":\"epoll\",\"loops\":3}\n");
}

TEST_F(AboutTest, SaysHowTheConnectionIsEncrypted) {
    const net::TransportSecurity security{.version = "TLSv1.3", .cipher = "TLS_AES_128_GCM_SHA256"};
    exchange_ = core::make_ref<testing::RecordedExchange>(*loop_, "GET", About::path);
    exchange_->set_security(security);
    about_.handle(*exchange_);
    EXPECT_THAT(exchange_->body(), ::testing::EndsWith(",\"tls\":\"TLSv1.3\","
                                                       "\"cipher\":\"TLS_AES_128_GCM_SHA256\"}\n"));
}

}  // namespace
}  // namespace tiderace::server

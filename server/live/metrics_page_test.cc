#include "server/live/metrics_page.h"

#include <gtest/gtest.h>

#include "tiderace/core/kernel.h"
#include "tiderace/net/listener.h"

namespace tiderace::server {
namespace {

// What it shows: tests/test_site_metrics.py, with the real program.
TEST(MetricsPage, BindsNothingWhereItListensAlready) {
    const MetricsOptions here{.on = true, .listen = "127.0.0.1:0"};
    const auto first = MetricsPage::bind(here);
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_TRUE((*first)->socket);
    MetricsOptions of_some = here;
    of_some.remote = {*net::Network::parse("10.0.0.0/8")};
    const auto same = *MetricsPage::bind(of_some, here);
    EXPECT_FALSE(same->socket);
    EXPECT_EQ(same->options, of_some);
    EXPECT_FALSE((*MetricsPage::bind({.on = true}, here))->socket);
}

TEST(MetricsPage, AnAddressInUseIsRefused) {
    const auto first = *MetricsPage::bind({.on = true, .listen = "127.0.0.1:0"});
    ASSERT_TRUE(net::start_listening(core::system_kernel(), first->socket, 1));
    const std::string taken = net::local_address(core::system_kernel(), first->socket).to_string();
    const auto second = MetricsPage::bind({.on = true, .listen = taken});
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message().find("another program listens there"), std::string::npos);
}

}  // namespace
}  // namespace tiderace::server

#include "server/site/canonical_host.h"

#include <gtest/gtest.h>

#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::server {
namespace {

TEST(CanonicalHost, LeadsOtherNamesToTheOneWithPathAndQueryAsTheyCame) {
    const auto loop = std::move(*core::EventLoop::create({}));
    CanonicalHost rule("a.example");
    const auto location = [&](ByteView authority, ByteView raw_path) -> std::string {
        const auto exchange = core::make_ref<testing::RecordedExchange>(*loop, "GET", "/x?a=b%20c");
        exchange->set_authority(authority);
        exchange->set_raw_path(raw_path);
        if (rule.check(*exchange) == http::AccessRule::Verdict::pass) return "passes";
        EXPECT_EQ(exchange->status(), 308);
        return exchange->header("Location");
    };
    EXPECT_EQ(location("b.example", "/%78"), "http://a.example/%78?a=b%20c");
    EXPECT_EQ(location("b.example:8080", "/x"), "http://a.example:8080/x?a=b%20c");
    EXPECT_EQ(location("[::1]:80", "/x"), "http://a.example:80/x?a=b%20c");
    EXPECT_EQ(location("[::1]", "/x"), "http://a.example/x?a=b%20c");
    for (const ByteView same : {"a.example", "A.Example:80", "a.example.", ""}) {
        EXPECT_EQ(location(same, "/x"), "passes") << same;
    }
    EXPECT_EQ(location("b.example", "*"), "passes") << "no path";
}

}  // namespace
}  // namespace tiderace::server

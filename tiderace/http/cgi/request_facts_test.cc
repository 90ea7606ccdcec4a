#include "tiderace/http/cgi/request_facts.h"

#include <gtest/gtest.h>

#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http::cgi {
namespace {

TEST(RequestTextsTest, ComeFromTheRequest) {
    auto loop = std::move(*core::EventLoop::create({}));
    testing::RecordedExchange exchange(*loop, "GET", "/a?x=1",
                                       {{"Authorization", "Basic YWRhOng="}});
    exchange.set_raw_path("/%61");
    const RequestTexts open(exchange.request(), false);
    EXPECT_EQ(open.facts.request_uri, "/%61?x=1");
    EXPECT_EQ(open.facts.query, "x=1");
    EXPECT_EQ(open.facts.method, "GET");
    EXPECT_EQ(open.facts.protocol, "HTTP/1.1");
    EXPECT_EQ(open.facts.authority, "localhost");
    EXPECT_FALSE(open.facts.remote_address.empty());
    EXPECT_EQ(open.facts.remote_user, "") << "the password was not checked";
    const RequestTexts checked(exchange.request(), true);
    EXPECT_EQ(checked.facts.remote_user, "ada");
}

}  // namespace
}  // namespace tiderace::http::cgi

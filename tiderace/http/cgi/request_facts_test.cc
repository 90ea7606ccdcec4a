#include "tiderace/http/cgi/request_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

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

// Without a copy, because each request has one.
TEST(RequestTextsTest, TheUriIsTheRestOfTheTarget) {
    const std::string absolute = "http://a.example/p/%61?x=1?";
    const std::string origin = "/p?";
    for (const auto& [target, begin, uri] : {std::tuple(ByteView(absolute), 16, "/p/%61?x=1?"),
                                             std::tuple(ByteView(origin), 0, "/p?")}) {
        wire::RequestHead head;
        head.set_method("GET");
        head.set_target(target, wire::TargetForm::absolute, "a.example");
        Request request;
        request.head = &head;
        const ByteView rest = target.substr(static_cast<std::size_t>(begin));
        const std::size_t mark = rest.find('?');
        request.raw_path = rest.substr(0, mark);
        request.has_query = true;
        request.query = rest.substr(mark + 1);
        const RequestTexts texts(request, false);
        EXPECT_EQ(texts.facts.request_uri, uri);
        EXPECT_EQ(texts.facts.request_uri.data(), rest.data());
        // "http://a.example?x": the path is ours.
        request.raw_path = "/";
        EXPECT_EQ(RequestTexts(request, false).facts.request_uri,
                  "/?" + std::string(request.query));
    }
}

}  // namespace
}  // namespace tiderace::http::cgi

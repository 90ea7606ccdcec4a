#include "lab/opponent/request_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiderace::lab::opponent {
namespace {

using Outcome = RequestParser::Outcome;

TEST(RequestParser, ReadsARequestAtEverySplit) {
    const std::string bytes =
        "GET /a%20b?q=1 HTTP/1.1\r\nHost: x\r\nConnection:  Close \r\nX:\r\n\r\n";
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        RequestParser parser;
        auto parsed = parser.parse(std::string_view(bytes).substr(0, cut));
        EXPECT_EQ(parsed.used, cut);
        if (cut < bytes.size()) {
            EXPECT_EQ(parsed.outcome, Outcome::incomplete) << cut;
            parsed = parser.parse(std::string_view(bytes).substr(cut));
        }
        ASSERT_EQ(parsed.outcome, Outcome::complete) << cut;
        const Request request = parser.take();
        EXPECT_EQ(request.method, "GET");
        EXPECT_EQ(request.target, "/a%20b?q=1");
        EXPECT_TRUE(request.closes);
        EXPECT_FALSE(request.has_body);
    }
}

TEST(RequestParser, LeavesTheNextRequestAlone) {
    const std::string first = "GET / HTTP/1.1\r\n\r\n";
    const std::string both = first + "HEAD /b HTTP/1.0\r\n\r\n";
    RequestParser parser;
    EXPECT_EQ(parser.parse(both).used, first.size());
    EXPECT_FALSE(parser.take().closes);
    EXPECT_EQ(parser.parse(both.substr(first.size())).outcome, Outcome::complete);
    const Request second = parser.take();
    EXPECT_EQ(second.method, "HEAD");
    EXPECT_TRUE(second.closes) << "1.0 says so by itself";
}

TEST(RequestParser, KnowsKeepAliveAndBodies) {
    const struct {
        const char* fields;
        bool closes, has_body;
    } cases[] = {
        {" HTTP/1.0\r\nConnection: keep-alive\r\n", false, false},
        {" HTTP/1.1\r\nContent-Length: 0\r\n", false, false},
        {" HTTP/1.1\r\nContent-Length: 4\r\n", false, true},
        {" HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", false, true},
    };
    for (const auto& one : cases) {
        RequestParser parser;
        ASSERT_EQ(parser.parse(std::string("GET /") + one.fields + "\r\n").outcome,
                  Outcome::complete)
            << one.fields;
        const Request request = parser.take();
        EXPECT_EQ(request.closes, one.closes) << one.fields;
        EXPECT_EQ(request.has_body, one.has_body) << one.fields;
    }
}

TEST(RequestParser, RefusesWhatIsNoRequest) {
    for (const std::string bytes :
         {" GET / HTTP/1.1\r\n\r\n", "GET  HTTP/1.1\r\n\r\n", "GET / HTTP/2.0\r\n\r\n",
          "GET / HTTP/1.11\r\n\r\n", "GET / HTTP/1.\r\n\r\n", "GET / HTTP/1.1\n\n",
          "GET / HTTP/1.1\r\nA : b\r\n\r\n", "GET / HTTP/1.1\r\n folded\r\n\r\n",
          "GET / HTTP/1.1\r\nA: b\x01\r\n\r\n", "GET /\x01 HTTP/1.1\r\n\r\n",
          "GET / HTTP/1.1\r\n\rx", "G(T / HTTP/1.1\r\n\r\n"}) {
        RequestParser parser;
        EXPECT_EQ(parser.parse(bytes).outcome, Outcome::bad) << bytes;
    }
}

TEST(RequestParser, RefusesAHeadWithoutEnd) {
    RequestParser parser;
    ASSERT_EQ(parser.parse("GET / HTTP/1.1\r\nA: ").outcome, Outcome::incomplete);
    EXPECT_EQ(parser.parse(std::string(RequestParser::head_bytes_max, 'x')).outcome,
              Outcome::too_large);
}

}  // namespace
}  // namespace tiderace::lab::opponent

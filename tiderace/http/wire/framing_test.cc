#include "tiderace/http/wire/framing.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::wire {
namespace {

using Body = RequestFraming::Body;

// Framing is a function of the head, and the head of the bytes, whatever their splits
// (request_head_test.cc); so each case here needs one parse.
RequestFraming frame(const std::string& bytes) {
    RequestHead head;
    const HeadParse parse = parse_request_head(bytes, {}, head);
    EXPECT_EQ(parse.status, ParseStatus::complete) << to_string(parse.refusal) << '\n' << bytes;
    return frame_request(head);
}

std::string post(const std::string& fields) {
    return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n\r\n";
}
std::string get(const std::string& version, const std::string& fields) {
    return "GET / HTTP/" + version + "\r\n" + fields + "\r\n\r\n";
}

struct RefusedFraming {
    std::string bytes;
    Refusal refusal;
};

class FramingRefusal : public ::testing::TestWithParam<RefusedFraming> {};

TEST_P(FramingRefusal, ClosesTheConnection) {
    const RequestFraming framing = frame(GetParam().bytes);
    EXPECT_EQ(to_string(framing.refusal), to_string(GetParam().refusal));
    EXPECT_FALSE(framing.keep_alive);
    EXPECT_FALSE(framing.expect_continue);
    EXPECT_FALSE(framing.upgrade_requested);
}

INSTANTIATE_TEST_SUITE_P(
    Length, FramingRefusal,
    ::testing::Values(
        RefusedFraming{post("Content-Length: 5\r\nTransfer-Encoding: chunked"),
                       Refusal::length_and_chunked},
        RefusedFraming{post("Transfer-Encoding: chunked\r\nContent-Length: 5"),
                       Refusal::length_and_chunked},
        RefusedFraming{post("Transfer-Encoding: gzip\r\nContent-Length: x"),
                       Refusal::length_and_chunked},
        RefusedFraming{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
                       Refusal::length_and_chunked},
        RefusedFraming{post("Content-Length: 5\r\nContent-Length: 5"), Refusal::duplicate_length},
        RefusedFraming{post("Content-Length: 5\r\ncontent-LENGTH: 6"), Refusal::duplicate_length},
        RefusedFraming{post("Content-Length: 5, 5"), Refusal::bad_length},
        RefusedFraming{post("Content-Length:"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: +5"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: -5"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: -0"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: 5 5"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: 0x5"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: 5a"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: 5.0"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: 1e3"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: 1_0"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: \"5\""), Refusal::bad_length},
        RefusedFraming{post("Content-Length: 05"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: 00"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: \xd9\xa5"), Refusal::bad_length},
        RefusedFraming{post("Content-Length: 9223372036854775808"), Refusal::length_overflow},
        RefusedFraming{post("Content-Length: 18446744073709551616"), Refusal::length_overflow},
        RefusedFraming{post("Content-Length: 18446744073709551621"), Refusal::length_overflow},
        RefusedFraming{post("Content-Length: 99999999999999999999999999999999"),
                       Refusal::length_overflow}));

INSTANTIATE_TEST_SUITE_P(
    TransferCoding, FramingRefusal,
    ::testing::Values(
        RefusedFraming{post("Transfer-Encoding:"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: ,"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: , chunked"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: chunked,"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: chunked, chunked"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
                       Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: chunked, gzip"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
                       Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: identity"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: gzip"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: xchunked"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: chunkedx"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: chunked;q=1"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: chunked; a"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: \"chunked\""), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: \"chunked"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: 'chunked'"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: chun ked"), Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: \xc3\xa7hunked"), Refusal::bad_transfer_coding},
        RefusedFraming{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
                       Refusal::bad_transfer_coding},
        RefusedFraming{"POST / HTTP/1.0\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                       Refusal::bad_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: gzip, chunked"), Refusal::unknown_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: identity, chunked"),
                       Refusal::unknown_transfer_coding},
        RefusedFraming{post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked"),
                       Refusal::unknown_transfer_coding}));

INSTANTIATE_TEST_SUITE_P(
    Host, FramingRefusal,
    ::testing::Values(RefusedFraming{get("1.1", "X: a"), Refusal::missing_host},
                      RefusedFraming{get("1.2", "X: a"), Refusal::missing_host},
                      RefusedFraming{"GET http://a/ HTTP/1.1\r\n\r\n", Refusal::missing_host},
                      RefusedFraming{get("1.1", "Host: a\r\nHost: a"), Refusal::duplicate_host},
                      RefusedFraming{get("1.1", "Host: a\r\nhost: b"), Refusal::duplicate_host},
                      RefusedFraming{get("1.0", "Host: a\r\nHost: a"), Refusal::duplicate_host},
                      RefusedFraming{get("1.1", "Host:"), Refusal::bad_host},
                      RefusedFraming{get("1.1", "Host: :80"), Refusal::bad_host},
                      RefusedFraming{"OPTIONS * HTTP/1.1\r\nHost: :80\r\n\r\n", Refusal::bad_host},
                      RefusedFraming{"CONNECT a:1 HTTP/1.1\r\nHost:\r\n\r\n", Refusal::bad_host},
                      RefusedFraming{get("1.1", "Host: a b"), Refusal::bad_host},
                      RefusedFraming{get("1.1", "Host: a, b"), Refusal::bad_host},
                      RefusedFraming{get("1.1", "Host: http://a"), Refusal::bad_host},
                      RefusedFraming{get("1.1", "Host: a/b"), Refusal::bad_host},
                      RefusedFraming{get("1.1", "Host: u@a"), Refusal::bad_host},
                      RefusedFraming{get("1.1", "Host: a:65536"), Refusal::bad_host},
                      RefusedFraming{get("1.1", "Host: a:x"), Refusal::bad_host},
                      RefusedFraming{get("1.0", "Host: a b"), Refusal::bad_host}));

INSTANTIATE_TEST_SUITE_P(
    Expect, FramingRefusal,
    ::testing::Values(RefusedFraming{post("Content-Length: 5\r\nExpect: 200-ok"),
                                     Refusal::unknown_expectation},
                      RefusedFraming{post("Content-Length: 5\r\nExpect: 100-continue, x"),
                                     Refusal::unknown_expectation},
                      RefusedFraming{post("Content-Length: 5\r\nExpect: 100-continue\r\nExpect: x"),
                                     Refusal::unknown_expectation},
                      RefusedFraming{post("Content-Length: 5\r\nExpect: 100-continue;a=b"),
                                     Refusal::unknown_expectation},
                      RefusedFraming{post("Content-Length: 5\r\nExpect: \"100-continue"),
                                     Refusal::unknown_expectation}));

TEST(Framing, BodiesAreByLengthOrChunkedOrNone) {
    struct Case {
        std::string bytes;
        Body body;
        std::uint64_t length;
    };
    const Case cases[] = {
        {post("X: a"), Body::none, 0},
        {get("1.1", "Host: a"), Body::none, 0},
        {post("Content-Length: 0"), Body::none, 0},
        {post("Content-Length: 5"), Body::length, 5},
        {post("Content-Length:  5 \t"), Body::length, 5},
        {get("1.1", "Host: a\r\nContent-Length: 7"), Body::length, 7},
        {get("1.0", "Content-Length: 7"), Body::length, 7},
        {post("Content-Length: 9223372036854775807"), Body::length, 9223372036854775807U},
        {post("Transfer-Encoding: chunked"), Body::chunked, 0},
        {post("transfer-encoding: CHUNKED"), Body::chunked, 0},
        {post("Transfer-Encoding: \tChunked "), Body::chunked, 0},
        // A name that only looks like one that frames.
        {post("Content_Length: 5"), Body::none, 0},
        {post("Content-Lengthy: 5\r\nX-Transfer-Encoding: chunked"), Body::none, 0},
    };
    for (const Case& c : cases) {
        const RequestFraming framing = frame(c.bytes);
        EXPECT_EQ(framing.refusal, Refusal::none) << c.bytes;
        EXPECT_EQ(framing.body, c.body) << c.bytes;
        EXPECT_EQ(framing.length, c.length) << c.bytes;
    }
}

TEST(Framing, TheConnectionGoesOnAsTheVersionAndTheOptionsSay) {
    struct Case {
        std::string version;
        std::string connection;
        bool keep_alive;
    };
    const Case cases[] = {
        {"1.1", "", true},
        {"1.0", "", false},
        {"1.1", "Connection: close", false},
        {"1.1", "Connection: CLOSE", false},
        {"1.1", "Connection: x, close", false},
        {"1.1", "Connection: x\r\nConnection: y,close ,z", false},
        {"1.1", "Connection: keep-alive, close", false},
        {"1.1", "Connection: close, keep-alive", false},
        {"1.1", "Connection: keep-alive", true},
        {"1.1", "Connection: closed", true},
        {"1.1", "Connection: not-close", true},
        {"1.1", "Connection:", true},
        {"1.1", "Connection: , ,", true},
        {"1.1", "Connection: a b", false},
        {"1.1", "Connection: \"close", false},
        {"1.1", "Connection: \"close\"", false},
        {"1.0", "Connection: keep-alive", true},
        {"1.0", "Connection: Keep-Alive, x", true},
        {"1.0", "Connection: keep-alive\r\nConnection: close", false},
        {"1.0", "Keep-Alive: timeout=5", false},
        {"1.0", "Proxy-Connection: keep-alive", false},
        {"1.2", "Connection: x", true},
    };
    for (const Case& c : cases) {
        const std::string fields = c.connection.empty() ? "Host: a" : "Host: a\r\n" + c.connection;
        const RequestFraming framing = frame(get(c.version, fields));
        EXPECT_EQ(framing.refusal, Refusal::none) << fields;
        EXPECT_EQ(framing.keep_alive, c.keep_alive) << c.version << ' ' << fields;
    }
}

TEST(Framing, AnUpgradeNeedsBothFieldsAndHttp11) {
    EXPECT_TRUE(frame(get("1.1", "Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket"))
                    .upgrade_requested);
    EXPECT_TRUE(frame(get("1.1", "Host: a\r\nConnection: keep-alive, upgrade\r\nUpgrade: h2c"))
                    .upgrade_requested);
    EXPECT_FALSE(frame(get("1.1", "Host: a\r\nUpgrade: websocket")).upgrade_requested);
    EXPECT_FALSE(frame(get("1.1", "Host: a\r\nConnection: upgrade")).upgrade_requested);
    EXPECT_FALSE(frame(get("1.1", "Host: a\r\nConnection: upgrade\r\nUpgrade:")).upgrade_requested);
    EXPECT_FALSE(frame(get("1.0", "Connection: upgrade\r\nUpgrade: websocket")).upgrade_requested);
}

TEST(Framing, ContinueIsExpectedOnlyForABodyInHttp11) {
    EXPECT_TRUE(frame(post("Content-Length: 5\r\nExpect: 100-continue")).expect_continue);
    EXPECT_TRUE(frame(post("Transfer-Encoding: chunked\r\nExpect: 100-Continue")).expect_continue);
    EXPECT_FALSE(frame(post("Expect: 100-continue")).expect_continue);
    EXPECT_FALSE(frame(post("Content-Length: 0\r\nExpect: 100-continue")).expect_continue);
    EXPECT_FALSE(frame(post("Content-Length: 5")).expect_continue);
    const RequestFraming old = frame(get("1.0", "Content-Length: 5\r\nExpect: anything"));
    EXPECT_EQ(old.refusal, Refusal::none);
    EXPECT_FALSE(old.expect_continue);
}

TEST(Framing, HostMayBeAbsentOrEmptyOnlyWhereNothingNeedsIt) {
    EXPECT_EQ(frame("GET / HTTP/1.0\r\n\r\n").refusal, Refusal::none);
    EXPECT_EQ(frame(get("1.0", "Host:")).refusal, Refusal::none);
    EXPECT_EQ(frame("OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n").refusal, Refusal::none);
    EXPECT_EQ(frame("GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n").refusal, Refusal::none);
    // The target's authority takes the place of Host, so that they may differ.
    EXPECT_EQ(frame("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n").refusal, Refusal::none);
    EXPECT_EQ(frame(get("1.1", "Host: [::1]:8080")).refusal, Refusal::none);
}

}  // namespace
}  // namespace tiderace::http::wire

#include "tiderace/http/request_id.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

#include "tiderace/http/request.h"

namespace tiderace::http {
namespace {

Request with(wire::RequestHead& head, bool trusts) {
    Request request;
    request.head = &head;
    request.trusts_id = trusts;
    return request;
}

TEST(RequestId, IsMadeOnceAndNoTwoAreAlike) {
    std::set<std::string> seen;
    const auto make = [&] {
        for (int i = 0; i < 10'000; ++i) {
            wire::RequestHead head;
            const Request request = with(head, true);
            const std::string id(request.id());
            EXPECT_EQ(id.size(), 32u);
            EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), id.npos) << id;
            EXPECT_EQ(request.id(), id) << "asked again";
            EXPECT_EQ(Request(request).id(), id) << "a copy";
            EXPECT_TRUE(seen.insert(id).second) << id;
        }
    };
    make();
    std::thread(make).join();  // another begins elsewhere
}

TEST(RequestId, AReusedRequestHasAnother) {
    wire::RequestHead head;
    Request request = with(head, false);
    const std::string first(request.id());
    request = {};
    EXPECT_NE(request.id(), first);
}

TEST(RequestId, OneThatWasSentCountsOnlyWhereItIsTrustedAndWellFormed) {
    struct Case {
        std::string name;
        std::string value;
        bool trusted;
        bool counts;
    };
    const Case cases[] = {
        {"X-Request-Id", "a-B_9.", true, true},
        {"Request-Id", "other", true, true},
        {"X-Request-Id", "mine", false, false},
        {"X-Request-Id", std::string(Request::id_bytes_max, 'x'), true, true},
        {"X-Request-Id", std::string(Request::id_bytes_max + 1, 'x'), true, false},
        {"X-Request-Id", "", true, false},
        {"X-Request-Id", "a b", true, false},
        {"X-Request-Id", "a\"b", true, false},
        {"X-Request-Id", "a\x1b[2J", true, false},
    };
    for (const Case& one : cases) {
        wire::RequestHead head;
        ASSERT_TRUE(head.add_field(one.name, one.value));
        const Request request = with(head, one.trusted);
        EXPECT_EQ(request.id() == one.value, one.counts) << one.name << ": " << one.value;
    }
    wire::RequestHead both;
    ASSERT_TRUE(both.add_field("Request-Id", "second"));
    ASSERT_TRUE(both.add_field("X-Request-Id", "first"));
    EXPECT_EQ(with(both, true).id(), "first");
}

TEST(RequestTrace, IsTheCallersOrBeginsHere) {
    const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const std::string parent = "00-" + trace + "-00f067aa0ba902b7-01";
    wire::RequestHead head;
    ASSERT_TRUE(head.add_field("Traceparent", parent));
    ASSERT_TRUE(head.add_field("tracestate", "a=1"));
    ASSERT_TRUE(head.add_field("tracestate", "b=2"));
    const Request request = with(head, false);
    EXPECT_EQ(request.trace().trace_id(), trace);
    EXPECT_EQ(request.trace().span_id(), request.id().substr(16));
    EXPECT_EQ(request.trace().tracestate(), "a=1,b=2");

    wire::RequestHead malformed;  // it borrows its texts
    const std::string longer = parent + "x";
    ASSERT_TRUE(malformed.add_field("traceparent", longer));
    ASSERT_TRUE(malformed.add_field("tracestate", "a=1"));
    const Request other = with(malformed, false);
    EXPECT_EQ(other.trace().trace_id(), other.id());
    EXPECT_EQ(other.trace().tracestate(), "");

    wire::RequestHead twice;
    ASSERT_TRUE(twice.add_field("traceparent", parent));
    ASSERT_TRUE(twice.add_field("traceparent", parent));
    EXPECT_NE(with(twice, false).trace().trace_id(), trace);
}

}  // namespace
}  // namespace tiderace::http

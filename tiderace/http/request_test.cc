#include "tiderace/http/request.h"

#include <gtest/gtest.h>

namespace tiderace::http {
namespace {

TEST(Request, AFieldIsItsFirstValueOrNothing) {
    wire::RequestHead head;
    ASSERT_TRUE(head.add_field("vary", "one"));
    ASSERT_TRUE(head.add_field("Vary", "two"));
    ASSERT_TRUE(head.add_field("ETag", ""));
    Request request;
    request.head = &head;
    EXPECT_EQ(request.header(wire::FieldName::vary), "one");
    EXPECT_EQ(request.header(wire::FieldName::host), "");
    EXPECT_EQ(request.header("VARY"), "one") << "by its name, in any case";
    EXPECT_EQ(request.header("X-Absent"), "");
    EXPECT_FALSE(request.has(wire::FieldName::host));
    EXPECT_TRUE(request.has(wire::FieldName::etag));
    EXPECT_EQ(request.header(wire::FieldName::etag), "");
}

TEST(Request, GetAndHeadAskForTheSame) {
    wire::RequestHead head;
    Request request;
    request.head = &head;
    for (const auto& [method, expected] : {std::pair{"GET", true},
                                           {"HEAD", true},
                                           {"POST", false},
                                           {"get", false},
                                           {"GETS", false}}) {
        head.set_method(method);
        EXPECT_EQ(request.is_get_or_head(), expected) << method;
    }
}

}  // namespace
}  // namespace tiderace::http

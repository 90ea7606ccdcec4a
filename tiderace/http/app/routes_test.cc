#include "tiderace/http/app/routes.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/app/app_fixture.h"

namespace tiderace::http {
namespace {

class RoutesTest : public AppTest {};

TEST_F(RoutesTest, EachMethodHasItsOwn) {
    app.get<"/x">([] { return "get"; })
        .post<"/x">([] { return "post"; })
        .put<"/x">([] { return "put"; })
        .patch<"/x">([] { return "patch"; })
        .del<"/x">([] { return "delete"; })
        .any<"/y">([] { return "any"; })
        .get<"/y">([] { return "get"; });
    app.group("/g").route(wire::Method::put, "/{n}", [](int n) { return std::to_string(n); });
    EXPECT_EQ(body_of(get("/x")), "get");
    EXPECT_EQ(body_of(ask("POST", "/x")), "post");
    EXPECT_EQ(body_of(ask("PUT", "/x")), "put");
    EXPECT_EQ(body_of(ask("PATCH", "/x")), "patch");
    EXPECT_EQ(body_of(ask("DELETE", "/x")), "delete");
    EXPECT_EQ(body_of(ask("DELETE", "/y")), "any");
    EXPECT_EQ(body_of(get("/y")), "get");
    EXPECT_EQ(body_of(ask("PUT", "/g/7")), "7");
}

}  // namespace
}  // namespace tiderace::http

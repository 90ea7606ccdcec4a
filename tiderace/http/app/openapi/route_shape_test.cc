#include "tiderace/http/app/openapi/route_shape.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/app/form.h"

namespace tiderace::http::app_parts {

struct ShapeTest {
    int a;
};

namespace {

template <typename F>
std::string shape_of(F) {
    RouteShape shape;
    kind_of<SignatureOf<F>>.describe(shape);
    std::string text;
    for (const RouteItem& item : shape) {
        constexpr std::string_view roles[] = {"parameter", "query", "body", "answer"};
        text += roles[static_cast<std::size_t>(item.role)];
        if (item.status != 0) text += " " + std::to_string(item.status);
        if (!item.media.empty()) (text += ' ') += item.media;
        text += item.type == &json::type_of<ShapeTest> ? " it; " : "; ";
    }
    return text;
}

TEST(RouteShape, HasTheArgumentsInTheirOrder) {
    EXPECT_EQ(shape_of([](int, const Request&, Query<ShapeTest>, std::string, Json<ShapeTest>) {}),
              "parameter; query it; parameter; body application/json it; answer 204; ");
    EXPECT_EQ(shape_of([](Body) {}), "body application/octet-stream; answer 204; ");
}

TEST(RouteShape, HasEachAnswerThatTheResultMayBe) {
    EXPECT_EQ(shape_of([] { return "text"; }), "answer 200 text/plain; ");
    EXPECT_EQ(shape_of([] { return Response(); }), "answer; ");
    EXPECT_EQ(shape_of([]() -> std::optional<Json<ShapeTest>> { return std::nullopt; }),
              "answer 200 application/json it; answer 404; ");
    EXPECT_EQ(shape_of([]() -> task::Task<std::expected<Created<ShapeTest>, Problem>> {
                  co_return std::unexpected(Problem{});
              }),
              "answer 201 application/json it; answer application/problem+json; ");
    EXPECT_EQ(shape_of([]() -> std::expected<void, Redirect> { return {}; }),
              "answer 204; answer 303; ");
    EXPECT_EQ(shape_of([]() -> std::variant<std::monostate, ShapeTest> { return {}; }),
              "answer 204; answer 200 application/json it; ");
    EXPECT_EQ(shape_of([]() -> Events { co_return; }), "answer 200 text/event-stream; ");
}

}  // namespace
}  // namespace tiderace::http::app_parts

#include "tiderace/http/app/openapi/openapi.h"

#include <gtest/gtest.h>

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/form.h"
#include "tiderace/http/app/multipart.h"
#include "tiderace/http/app/ready_middleware.h"
#include "tiderace/json.h"

namespace tiderace::http {

struct DocUser {
    std::uint64_t id;
    std::string name;
};
struct DocNewUser {
    json::Length<std::string, 1, 40> name;
};
struct DocSearch {
    std::string q;
    std::optional<int> page;
    std::vector<std::string> tag;
    json::Default<bool> exact;
};
enum class DocColour : std::uint8_t { red, green };

// The parts of a document that are read back.
struct DocParameter {
    std::string name;
    std::string in;
    json::Default<bool> required;
};
struct DocContent {
    std::optional<std::string> type;
};
struct DocBody {
    bool required;
    std::map<std::string, DocContent> content;
};
struct DocAnswer {
    std::optional<std::string> description;
    json::Default<std::map<std::string, DocContent>> content;
};
struct DocOperation {
    std::vector<DocParameter> parameters;
    std::optional<DocBody> requestBody;
    std::map<std::string, DocAnswer> responses;
};
struct DocComponents {
    std::map<std::string, DocContent> schemas;
};
struct Doc {
    std::string openapi;
    std::map<std::string, std::map<std::string, DocOperation>> paths;
    DocComponents components;
};

namespace {

class OpenApiTest : public AppTest {
  protected:
    OpenApiTest() { app.openapi("/openapi.json", {.title = "Harbour", .version = "1.2"}); }
    Doc document() {
        text = body_of(get("/openapi.json"));
        auto read = json::read<Doc>(text, {.unknown = json::Unknown::ignore});
        EXPECT_TRUE(read) << text;
        return read ? std::move(*read) : Doc();
    }
    static std::string statuses(const DocOperation& operation) {
        std::string all;
        for (const auto& [status, answer] : operation.responses) all += status + " ";
        return all;
    }
    bool says(std::string_view part) const { return text.find(part) != std::string::npos; }

    std::string text;
};

TEST_F(OpenApiTest, PathsParametersBodiesAndResults) {
    app.get<"/users/{id}">([](std::uint64_t) -> std::optional<DocUser> { return std::nullopt; });
    app.put<"/users/{number}">([](std::uint64_t, Json<DocUser>) {});
    app.post<"/users">([](Json<DocNewUser>) -> std::expected<Created<DocUser>, Problem> {
        return std::unexpected(Problem{});
    });
    app.get<"/search/{colour}">([](DocColour, Query<DocSearch>) { return std::vector<DocUser>(); });
    app.post<"/form">([](Form<DocNewUser>) -> task::Task<Redirect> { co_return Redirect{"/"}; });
    app.del<"/users/{id}">(
        [](std::string) -> std::variant<Response, std::string> { return "gone"; });
    const Doc doc = document();
    EXPECT_EQ(doc.openapi, "3.1.0");
    EXPECT_TRUE(says(R"("info":{"title":"Harbour","version":"1.2"})"));
    ASSERT_EQ(doc.paths.size(), 4u) << text;

    const auto& user = doc.paths.at("/users/{id}");
    ASSERT_EQ(user.size(), 3u) << "the second name of the parameter is the same path";
    EXPECT_EQ(statuses(user.at("get")), "200 400 404 ");
    EXPECT_EQ(user.at("get").parameters.at(0).name, "id");
    EXPECT_EQ(user.at("put").parameters.at(0).name, "id");
    EXPECT_EQ(user.at("put").parameters.at(0).in, "path");
    EXPECT_TRUE(*user.at("put").parameters.at(0).required);
    EXPECT_EQ(statuses(user.at("put")), "204 400 413 415 422 ");
    EXPECT_TRUE(user.at("put").requestBody->content.contains("application/json"));
    EXPECT_EQ(statuses(user.at("delete")), "200 default ");
    EXPECT_TRUE(user.at("delete").responses.at("200").content->contains("text/plain"));

    const auto& made = doc.paths.at("/users").at("post");
    EXPECT_EQ(statuses(made), "201 400 413 415 422 default ");
    EXPECT_EQ(made.responses.at("201").description, "Created");

    const auto& search = doc.paths.at("/search/{colour}").at("get");
    std::string parameters;
    for (const DocParameter& one : search.parameters) {
        parameters += one.in + ":" + one.name + (*one.required ? "! " : " ");
    }
    EXPECT_EQ(parameters, "path:colour! query:q! query:page query:tag query:exact ");
    EXPECT_TRUE(says(R"("enum":["red","green"])"));

    const auto& form = doc.paths.at("/form").at("post");
    EXPECT_TRUE(form.requestBody->content.contains("application/x-www-form-urlencoded"));
    EXPECT_EQ(statuses(form), "303 400 413 415 422 ");
    EXPECT_TRUE(doc.components.schemas.contains("DocUser"));
    EXPECT_TRUE(doc.components.schemas.contains("DocNewUser"));
    EXPECT_TRUE(says(R"("minLength":1,"maxLength":40)")) << text;
}

TEST_F(OpenApiTest, WhatADocumentCannotSayIsLeftOut) {
    app.get<"/">([] { return "home"; });
    app.get<"/files/{path...}">([](std::string) { return "file"; });
    app.any<"/any">([] { return "any"; });
    app.host("other.example").get<"/other">([] { return "other"; });
    app.group("/api").get<"/x">([] { return "x"; });
    app.post<"/upload">([](Multipart) -> task::Task<> { co_return; });
    const Doc doc = document();
    std::string paths;
    for (const auto& [path, operations] : doc.paths) paths += path + " ";
    EXPECT_EQ(paths, "/ /api/x /upload ");
    EXPECT_TRUE(
        doc.paths.at("/upload").at("post").requestBody->content.contains("multipart/form-data"));
}

TEST_F(OpenApiTest, IsTheSameEachTimeAndHasItsType) {
    app.get<"/x">([] { return "x"; });
    const std::string first = get("/openapi.json");
    EXPECT_EQ(status_of(first), "200");
    EXPECT_NE(first.find("Content-Type: application/json\r\n"), std::string::npos);
    EXPECT_EQ(get("/openapi.json"), first);
    EXPECT_EQ(status_of(ask("POST", "/openapi.json")), "405");
}

// Middleware knows what it answers with, and what it requires.
TEST_F(OpenApiTest, RefusalsAndSecurityOfWhatStandsBeforeARoute) {
    const auto basic = [] {
        return basic_auth({.verify = [](ByteView, ByteView) { return true; }});
    };
    app.use(rate_limit({}));
    app.get<"/open">([] { return "x"; });
    auto admin = app.group("/admin");
    admin.use(basic()).use(cross_origin());
    admin.get<"/users">([] { return "x"; });
    admin.post<"/users">([] { return "x"; },
                         bearer_auth({.verify = [](ByteView) { return true; }}));
    app.get<"/me">([] { return "x"; },
                   [](const Request&) -> std::optional<Problem> { return std::nullopt; });
    app.get<"/home">([] { return "x"; },
                     [](const Request&) -> std::optional<Redirect> { return std::nullopt; });
    app.get<"/slow">([] { return "x"; }, time_limit(1s));
    const Doc doc = document();
    EXPECT_EQ(statuses(doc.paths.at("/open").at("get")), "200 429 ");
    EXPECT_EQ(statuses(doc.paths.at("/admin/users").at("get")), "200 401 429 ");
    EXPECT_EQ(statuses(doc.paths.at("/admin/users").at("post")), "200 401 403 429 ");
    EXPECT_EQ(statuses(doc.paths.at("/me").at("get")), "200 429 default ");
    EXPECT_EQ(statuses(doc.paths.at("/home").at("get")), "200 303 429 ");
    EXPECT_EQ(statuses(doc.paths.at("/slow").at("get")), "200 429 503 ");
    EXPECT_TRUE(says(R"("/admin/users":{"get":{"security":[{"basic":[]}])")) << text;
    EXPECT_TRUE(says(R"("post":{"security":[{"basic":[],"bearer":[]}])"));
    EXPECT_TRUE(says(R"("securitySchemes":{"basic":{"type":"http","scheme":"basic"},)"
                     R"("bearer":{"type":"http","scheme":"bearer"}})"));
    EXPECT_FALSE(says(R"("/open":{"get":{"security")"));
}

TEST_F(OpenApiTest, WhatARouteIsDescribedAs) {
    auto boats = app.group("/boats");
    boats.use(describe({.summary = "of the group", .tags = {"boats"}}));
    boats.get<"/">(
        [] { return "x"; },
        describe({.summary = "All \"boats\"", .operation_id = "listBoats", .tags = {"lists"}}));
    boats.get<"/{id}">([](int) { return "x"; }, describe({.description = "One of them"}));
    boats.get<"/secret">([] { return "x"; }, describe({.hidden = true}));
    app.group("/inner").use(describe({.hidden = true})).get<"/x">([] { return "x"; });
    const Doc doc = document();
    EXPECT_EQ(doc.paths.size(), 2u) << text;
    EXPECT_TRUE(says(R"("get":{"summary":"All \"boats\"","operationId":"listBoats",)"
                     R"("tags":["boats","lists"])"))
        << text;
    EXPECT_TRUE(says(R"("get":{"summary":"of the group","description":"One of them",)"
                     R"("tags":["boats"])"));
    EXPECT_FALSE(says("secret"));
}

TEST_F(OpenApiTest, APageToTryThemStandsBesideIt) {
    app.openapi("/v2/openapi.json", {.title = "<Harbour>", .page = "/docs/try"},
                {bearer_auth({.verify = [](ByteView token) { return token == "ann"; }})});
    const std::string credentials = "Authorization: Bearer ann\r\n";
    EXPECT_NE(get("/docs/try").find(" 401 "), std::string::npos) << "the middleware is its, too";
    EXPECT_NE(get("/v2/openapi.json").find(" 401 "), std::string::npos);
    const std::string page = ask("GET", "/docs/try", credentials);
    EXPECT_NE(page.find("data-document=\"../v2/openapi.json\""), std::string::npos) << page;
    EXPECT_NE(page.find("<title>&lt;Harbour&gt;"), std::string::npos);
    EXPECT_TRUE(document().paths.empty()) << "neither is a route of the document: " << text;
}

}  // namespace
}  // namespace tiderace::http

// Error pages of an App, for what the library refuses by itself.
#include "tiderace/http/app/pages/error_page.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

#include "tiderace/http/app/form.h"
#include "tiderace/http/app/pages/page_fixture.h"
#include "tiderace/http/app/ready_middleware.h"
#include "tiderace/task/sleep.h"

namespace tiderace::http {
namespace {

using task::Task;

constexpr const char* browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
constexpr const char* program = "Accept: application/json\r\n";

struct SignUp {
    json::Length<std::string, 1, 10> name;
};

class ErrorPageTest : public PagesTest {
  protected:
    // As most Apps would: all that is known, in one line.
    void show_lines() {
        app.error_page([](const ErrorAnswer& error) {
            std::string line = "<p>" + std::to_string(error.status) + " " + error.title + " [" +
                               error.detail + "] " + std::string(error.request.path);
            for (const auto& fault : error.faults) line += " " + fault.name + ": " + fault.detail;
            return Response().html(line);
        });
    }
    // The answer to bytes that no client would send.
    std::string raw(std::string_view bytes) {
        auto peer = connect();
        peer->say(bytes);
        EXPECT_TRUE(world.run_until([&] { return peer->over(); }));
        return peer->heard();
    }
    static bool says(const std::string& answer, std::string_view text) {
        return answer.find(text) != std::string::npos;
    }
};

TEST_F(ErrorPageTest, ItIsShownForAllThatTheLibraryRefuses) {
    show_lines();
    app.get<"/">([] { return "x"; });
    app.get<"/throws">([]() -> std::string { throw std::runtime_error("low tide"); });
    app.get<"/late">(
        []() -> Task<std::string> {
            co_await task::sleep(1h);
            co_return "x";
        },
        time_limit(1s));
    app.get<"/none">([]() -> std::optional<std::string> { return std::nullopt; });
    app.get<"/limited">([] { return "x"; }, rate_limit({.per_minute = 1, .burst = 1}));
    app.post<"/body">([](Body) { return "x"; }, body_limit(10));
    EXPECT_EQ(body_of(get("/nowhere")), "<p>404 Not Found [] /nowhere");
    EXPECT_EQ(body_of(get("/none")), "<p>404 Not Found [] /none");
    const std::string method = ask("DELETE", "/");
    EXPECT_EQ(body_of(method), "<p>405 Method Not Allowed [] /");
    EXPECT_TRUE(says(method, "Allow: GET, HEAD")) << "fields stay: " << method;
    EXPECT_EQ(body_of(get("/throws")), "<p>500 Internal Server Error [] /throws");
    EXPECT_EQ(body_of(get("/late")),
              "<p>503 Service Unavailable [The answer took too long.] /late");
    EXPECT_EQ(status_of(get("/limited")), "200");
    const std::string limited = get("/limited");
    EXPECT_EQ(body_of(limited), "<p>429 Too Many Requests [] /limited");
    EXPECT_TRUE(says(limited, "Retry-After: "));
    EXPECT_TRUE(says(ask("POST", "/body", "", std::string(11, 'x')), "<p>413 "));
    EXPECT_EQ(body_of(get("/")), "x");
}

TEST_F(ErrorPageTest, ItIsShownForWhatIsRefusedBeforeItHasARoute) {
    show_lines();
    app.get<"/">([] { return "x"; });
    EXPECT_TRUE(says(raw("GET / HTTP/1.1\r\n\r\n"), "<p>400 Bad Request [")) << "no Host";
    EXPECT_TRUE(says(raw("GET /" + std::string(100'000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n"),
                     "<p>414 URI Too Long ["));
    EXPECT_TRUE(says(raw("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(100'000, 'x') + "\r\n"),
                     "<p>431 Request Header Fields Too Large ["));
    EXPECT_TRUE(says(ask("CONNECT", "a:1"), "<p>"));
}

TEST_F(ErrorPageTest, AClientThatPrefersJsonHasAProblem) {
    show_lines();
    const std::string answer = ask("GET", "/nowhere", program);
    EXPECT_EQ(body_of(answer), R"({"title":"Not Found","status":404})");
    EXPECT_TRUE(says(answer, "Content-Type: application/problem+json\r\n"));
    EXPECT_TRUE(says(answer, "Vary: Accept\r\n"));
}

TEST_F(ErrorPageTest, AProblemIsAPageForBrowsersAlone) {
    show_lines();
    app.post<"/sign-up">([](Form<SignUp>) { return "x"; });
    app.get<"/taken">([]() -> std::string {
        throw Problem{.status = 409, .title = "Taken", .detail = "the name is taken"};
    });
    app.get<"/whole">([]() -> std::string { throw Problem{.faults = {{"", "is no boat"}}}; });
    EXPECT_EQ(body_of(ask("GET", "/taken", browser)), "<p>409 Taken [the name is taken] /taken");
    EXPECT_TRUE(says(get("/taken"), R"("detail":"the name is taken")")) << "no Accept";
    EXPECT_TRUE(says(ask("GET", "/taken", "Accept: */*\r\n"), "problem+json"));
    const std::string form = "Content-Type: application/x-www-form-urlencoded\r\n";
    const std::string wrong = ask("POST", "/sign-up", browser + form, "name=");
    EXPECT_TRUE(says(wrong, "<p>422 ")) << wrong;
    EXPECT_TRUE(says(wrong, " name: expected a text of 1 to 10 characters")) << wrong;
    EXPECT_EQ(body_of(ask("GET", "/whole", browser)), "<p>400 Bad Request [] /whole : is no boat");
}

TEST_F(ErrorPageTest, AHandlersOwnBodyIsLeftAlone) {
    show_lines();
    app.get<"/own">([] { return Response(404).html("own"); });
    EXPECT_EQ(body_of(ask("GET", "/own", browser)), "own");
    EXPECT_FALSE(says(ask("OPTIONS", "/own", browser), "Vary")) << "204 is no error";
}

TEST_F(ErrorPageTest, AGroupHasItsOwnAndAsksTheAppsForTheRest) {
    show_lines();
    auto shop = app.group("/shop");
    shop.error_page([](const ErrorAnswer& error) -> std::optional<Response> {
        if (error.status != 404) return std::nullopt;
        return Response().html("not in this shop");
    });
    shop.get<"/{id}">([](int) -> std::optional<std::string> { return std::nullopt; });
    EXPECT_EQ(body_of(get("/shop/7")), "not in this shop");
    EXPECT_EQ(body_of(get("/shop/7/no/route")), "not in this shop");
    EXPECT_EQ(body_of(get("/shop")), "not in this shop");
    EXPECT_EQ(body_of(get("/shopping")), "<p>404 Not Found [] /shopping");
    EXPECT_TRUE(says(ask("DELETE", "/shop/7"), "<p>405 Method Not Allowed"));
}

TEST_F(ErrorPageTest, AMountedAppKeepsItsOwn) {
    show_lines();
    App shop;
    shop.error_page([](const ErrorAnswer&) { return "shop"; });
    shop.get<"/x">([] { return "x"; });
    app.mount("/shop", std::move(shop));
    EXPECT_EQ(body_of(get("/shop/y")), "shop");
    EXPECT_TRUE(says(get("/y"), "<p>404"));
}

TEST_F(ErrorPageTest, OneThatThrowsLeavesTheNextPage) {
    show_lines();
    auto broken = app.group("/broken");
    broken.error_page([](const ErrorAnswer&) -> Response { throw std::runtime_error("no page"); });
    broken.get<"/x">([]() -> std::string { throw std::runtime_error("low tide"); });
    EXPECT_EQ(body_of(get("/broken/x")), "<p>500 Internal Server Error [] /broken/x");
}

TEST_F(ErrorPageTest, WithoutAnotherPageTheAnswerIsAsItWas) {
    app.error_page([](const ErrorAnswer&) -> Response { throw std::runtime_error("no page"); });
    app.get<"/x">([]() -> std::string { throw std::runtime_error("low tide"); });
    const std::string answer = get("/x");
    EXPECT_EQ(status_of(answer), "500");
    EXPECT_EQ(body_of(answer), "") << "the site has no built-in page here";
}

TEST_F(ErrorPageTest, ATemplateIsCheckedAtStartAndShownEscaped) {
    struct Shown {
        std::string name;
        std::vector<std::string> posts;
    };
    app.templates(folder.path());
    app.error_page([](const ErrorAnswer& error) {
        return page<"feed.html">(Shown{std::string(error.request.path), {}});
    });
    ASSERT_EQ(app.fault(), "");
    EXPECT_EQ(body_of(get("/%3Ci%3E")), "<h1>/&lt;i&gt;</h1>");
    App other;
    other.templates(folder.path());
    other.error_page([](const ErrorAnswer&) { return page<"nowhere.html">(Shown{}); });
    EXPECT_NE(other.fault(), "");
}

TEST_F(ErrorPageTest, FiltersSeeThePage) {
    app.use(security_headers());
    app.use([](const Request&, Response& response) {
        response.header("X-Bytes", std::to_string(response.copied_body().size()));
    });
    app.error_page([](const ErrorAnswer&) -> std::variant<Response, Problem> {
        return Response(200).header("X-Page", "mine").text("12345");
    });
    const std::string answer = get("/nowhere");
    EXPECT_EQ(status_of(answer), "404") << "the status stays";
    EXPECT_TRUE(says(answer, "X-Bytes: 5\r\n")) << answer;
    EXPECT_TRUE(says(answer, "X-Page: mine\r\n"));
    EXPECT_TRUE(says(answer, "X-Frame-Options: DENY\r\n"));
}

}  // namespace
}  // namespace tiderace::http

// The programs of the guide, whose pages docs/library.md lists, and of README.md, asked over the
// network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/documents/program.h"
#include "tiderace/http/client/client.h"
#include "tiderace/json.h"
#include "tiderace/serve/stream_tls.h"
#include "tiderace/task.h"
#include "tiderace/tcp.h"
#include "tiderace/testing/certificates.h"
#include "tiderace/version.h"

namespace documents {
namespace {

using ::testing::HasSubstr;
constexpr const char* form = "application/x-www-form-urlencoded";
constexpr const char* json = "application/json";

class Library : public ::testing::Test {
  protected:
    Program start(const std::string& name, const std::string& server = "") {
        return Program(folder, name, {}, server);
    }
    // The session's cookie of an answer, as a client sends it back.
    static std::string cookie_of(const tiderace::http::ClientResponse& answer) {
        const std::string cookie(answer.header("Set-Cookie"));
        return cookie.substr(0, cookie.find(';'));
    }

    tiderace::testing::TemporaryFolder folder;
};

TEST_F(Library, TheFirstProgramAnswers) {
    Program program = start("readme/tiderace");
    EXPECT_EQ(get(program.url("/")).body, "hello\n");
    EXPECT_EQ(get(program.url("/users/7")).body, "{\"id\":7,\"name\":\"ann\"}");
    EXPECT_EQ(get(program.url("/users/8")).status, 404);
    EXPECT_EQ(get(program.url("/users/x")).status, 400);
    EXPECT_EQ(ask("POST", program.url("/echo"), "tide").body, "tide");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, TheExampleOfTheAppsHeaderAnswers) {
    Program program = start("app_header/example");
    EXPECT_EQ(get(program.url("/")).body, "hello\n");
    EXPECT_EQ(get(program.url("/users/7")).body, "{\"id\":7,\"name\":\"ann\"}");
    EXPECT_EQ(get(program.url("/users/8")).status, 404);
    EXPECT_EQ(ask("POST", program.url("/echo"), "tide").body, "tide");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, Routes) {
    Program program = start("routes/routes");
    EXPECT_EQ(get(program.url("/")).body, "hello\n");
    EXPECT_EQ(get(program.url("/square/12")).body, "144\n");
    EXPECT_EQ(get(program.url("/files/a/b")).body, "a/b");
    EXPECT_EQ(ask("POST", program.url("/")).status, 405);
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, TypesOfTheProgramsOwn) {
    Program program = start("routes/types_of_your_own");
    const auto stranger = get(program.url("/settings"));
    EXPECT_EQ(stranger.status, 303);
    EXPECT_EQ(stranger.header("Location"), "/login");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, JsonOfAnotherShapeThanItsStruct) {
    Program program = start("routes/members_of_json");
    const auto post = [&](const std::string& body) {
        return ask("POST", program.url("/sales"), body, json);
    };
    const auto sold = post(R"({"@type":"sold","articleId":7,"amount":"12.50",)"
                           R"("left":{"books":3},"details":{"by":["ann"]}})");
    EXPECT_EQ(sold.body, R"({"by":"ann","cents":1250})");
    const auto wrong = post(R"({"@type":"sold","articleId":7,"amount":"12","details":1})");
    EXPECT_EQ(wrong.status, 422);
    EXPECT_NE(wrong.body.find("expected an amount such as"), std::string::npos) << wrong.body;
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, WhatHandlersShare) {
    Program program = start("routes/what_handlers_share");
    EXPECT_EQ(get(program.url("/")).body, "hello, visit 1 of this loop\n");
    EXPECT_THAT(get(program.url("/")).body, HasSubstr("hello, visit "));
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, FormsCookiesAndUploads) {
    Program program = start("forms/forms_cookies_and_uploads");
    EXPECT_EQ(get(program.url("/search?q=tea&tag=a&tag=b")).body, "tea\n");
    EXPECT_EQ(get(program.url("/search?q=tea&page=101")).status, 400);
    const auto made = ask("POST", program.url("/sign-up"), "name=ann&age=30", form);
    EXPECT_EQ(made.status, 201);
    EXPECT_EQ(made.body, "welcome\n");
    EXPECT_EQ(get(program.url("/me"), {{"Cookie", cookie_of(made)}}).body, "ann");
    EXPECT_EQ(ask("POST", program.url("/sign-up"), "name=ann&age=3", form).status, 422);
    const std::string upload =
        "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\n"
        "ten bytes.\r\n--b--\r\n";
    EXPECT_EQ(ask("POST", program.url("/upload"), upload, "multipart/form-data; boundary=b").body,
              "10\n");
    EXPECT_EQ(std::filesystem::file_size(folder.path_of("upload.bin")), 10u);
    EXPECT_EQ(ask("POST", program.url("/count"), std::string(100'000, 'x')).body, "100000\n");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, WhatAHandlerReturns) {
    Program program = start("answers/what_a_handler_returns");
    const auto made = ask("POST", program.url("/users"), R"({"name":"ann","age":30})", json);
    EXPECT_EQ(made.status, 201);
    EXPECT_EQ(made.header("Location"), "/users/7");
    EXPECT_EQ(made.body, "{\"id\":7,\"name\":\"ann\"}");
    const auto taken = ask("POST", program.url("/users"), R"({"name":"root","age":30})", json);
    EXPECT_EQ(taken.status, 409);
    EXPECT_THAT(taken.body, HasSubstr("the name is taken"));
    EXPECT_EQ(ask("POST", program.url("/users"), R"({"name":"","age":1})", json).status, 422);
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, AFileAsTheAnswer) {
    std::filesystem::create_directory(folder.path_of("invoices"));
    std::ofstream(folder.path_of("report.pdf")) << "%PDF";
    std::ofstream(folder.path_of("invoices/7.txt")) << "seven";
    Program program = start("answers/a_file_as_the_answer");
    const auto report = get(program.url("/report"));
    EXPECT_EQ(report.body, "%PDF");
    EXPECT_EQ(report.header("Content-Type"), "application/pdf");
    EXPECT_EQ(report.header("Cache-Control"), "private");
    EXPECT_EQ(get(program.url("/report"), {{"Range", "bytes=1-2"}}).body, "PD");
    const auto invoice = get(program.url("/invoices/7.txt"));
    EXPECT_EQ(invoice.body, "seven");
    EXPECT_EQ(invoice.header("Content-Disposition"), "attachment; filename=\"7.txt\"");
    EXPECT_EQ(get(program.url("/invoices/draft.txt")).status, 403);
    EXPECT_EQ(get(program.url("/invoices/8.txt")).status, 404);
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, Pages) {
    folder.write("templates/feed.html",
                 block_after("docs/answers.md", "With `templates/feed.html`"));
    Program program = start("answers/pages");
    EXPECT_EQ(get(program.url("/")).body, "<h1>tides</h1>\n<p><a href=\"/ebb\">Ebb</a></p>\n");
    const auto closed = get(program.url("/closed"));
    EXPECT_EQ(closed.status, 403);
    EXPECT_THAT(closed.body, HasSubstr("<h1>closed</h1>"));
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, PagesInSeveralLanguages) {
    folder.write("templates/front.html",
                 block_after("docs/answers.md", "With `templates/front.html`"));
    Program program = start("answers/several_languages");
    EXPECT_EQ(get(program.url("/Ann")).body,
              "<title>Ebb &amp; flow</title>\n<h1>Hello, Ann</h1>\n");
    EXPECT_EQ(get(program.url("/Ann"), {{"Accept-Language", "de-CH"}}).body,
              "<title>Ebbe &amp; Flut</title>\n<h1>Moin, Ann</h1>\n");
    EXPECT_EQ(program.end(), 0);
}

tiderace::Task<std::string> first_events(std::string url) {
    tiderace::http::Client client;
    auto events = co_await client.open(tiderace::http::ClientRequest("GET", std::move(url)));
    if (!events) co_return events.error().message;
    std::string heard;
    while (heard.find("data: 1\n") == std::string::npos) {
        auto piece = co_await events->read();
        if (!piece || piece->empty()) break;
        heard += *piece;
    }
    co_return heard;
}

TEST_F(Library, TasksAndStreams) {
    Program program = start("tasks/tasks_and_streams");
    EXPECT_EQ(get(program.url("/answer")).body, "42\n");
    EXPECT_EQ(tiderace::run(first_events(program.url("/ticks"))), "data: 0\n\ndata: 1\n\n");
    const auto squares = get(program.url("/squares/3"));
    EXPECT_EQ(squares.body, "row,square\n1,1\n2,4\n3,9\n");
    EXPECT_EQ(squares.header("Content-Type"), "text/csv");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, TasksBesideEachOther) {
    Program program = start("tasks/tasks_beside_each_other");
    EXPECT_EQ(program.wait(), 0);
    EXPECT_EQ(program.output(), "15 metres\ncalm, clear\nearly\n");
}

TEST_F(Library, RequestsOverBothVersions) {
    Program server = start("routes/routes");
    Program one = start("client/requests_to_other_servers", server.url("/"));
    EXPECT_EQ(one.wait(), 0) << one.output();
    EXPECT_EQ(one.output(), "hello\n\n");
    Program ten = start("client/http_2", server.url("/"));
    EXPECT_EQ(ten.wait(), 0) << ten.output();
    EXPECT_EQ(server.end(), 0);
    Program late = start("client/requests_to_other_servers", server.url("/"));
    EXPECT_EQ(late.wait(), 1);
}

TEST_F(Library, FormsWithFilesAndDownloads) {
    folder.write("autumn.jpg", std::string(300'000, 'x'));
    Program server = start("forms/forms_cookies_and_uploads");
    Program client = start("client/forms_with_files_and_downloads", server.url("/"));
    EXPECT_EQ(client.wait(), 0) << client.output();
    EXPECT_EQ(client.output(), "5 of 5 bytes\n");
    EXPECT_EQ(std::filesystem::file_size(folder.path_of("upload.bin")), 300'000U);
    EXPECT_EQ(std::filesystem::file_size(folder.path_of("found.txt")), 5U);
    EXPECT_EQ(server.end(), 0);
    Program late = start("client/forms_with_files_and_downloads", server.url("/"));
    EXPECT_EQ(late.wait(), 1);
}

TEST_F(Library, UnixSockets) {
    Program server = start("deployment/serving");
    server.url("/");
    Program client = start("client/unix_sockets");
    EXPECT_EQ(client.wait(), 0) << client.output();
    EXPECT_EQ(client.output(), "200\n");
    EXPECT_EQ(server.end(), 0);
}

TEST_F(Library, ServerSentEvents) {
    Program server = start("tasks/tasks_and_streams");
    Program client(folder, "client/server_sent_events", {server.url("/ticks")});
    client.wait_for("message: 1\n");
    EXPECT_EQ(server.end(), 0);
    EXPECT_EQ(client.wait(), 0) << client.output();
    EXPECT_THAT(client.output(), ::testing::StartsWith("message: 0\nmessage: 1\n"));
}

TEST_F(Library, GroupsAndMiddleware) {
    folder.write("public/a.txt", "a file\n");
    Program program = start("middleware/groups_and_middleware");
    const auto user = get(program.url("/api/users/7"));
    EXPECT_EQ(user.body, "7\n");
    EXPECT_EQ(user.header("X-Harbour"), "north");
    EXPECT_EQ(get(program.url("/api/users/1")).status, 403);
    EXPECT_EQ(ask("POST", program.url("/api/import"), "much").body, "done\n");
    EXPECT_EQ(get(program.url("/admin")).status, 401);
    const auto admin = get(program.url("/admin"), {{"Authorization", "Basic YW5uOnNlY3JldA=="}});
    EXPECT_EQ(admin.body, "admin\n");
    const auto file = get(program.url("/static/a.txt"));
    EXPECT_EQ(file.body, "a file\n");
    EXPECT_EQ(file.header("Cache-Control"), "max-age=3600");
    EXPECT_EQ(get(program.url("/shop")).body, "boats\n");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, ARequestsTraceGoesOn) {
    Program server = start("routes/routes");
    Program program = start("middleware/request_ids_and_traces", server.url("/"));
    EXPECT_EQ(get(program.url("/price")).body, "hello\n");
    EXPECT_EQ(server.end(), 0);
    EXPECT_EQ(get(program.url("/price")).body, "none\n");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, ErrorPages) {
    folder.write("templates/error.html", "<h1>{{ status }} {{ title }}</h1><p>{{ detail }}</p>");
    Program program = start("errors/error_pages");
    EXPECT_EQ(get(program.url("/shop/7")).body, "a boat\n");
    EXPECT_THAT(get(program.url("/nothing"), {{"Accept", "text/html"}}).body,
                HasSubstr("<h1>404 Not Found</h1>"));
    EXPECT_EQ(get(program.url("/shop/8"), {{"Accept", "text/html"}}).body,
              "<h1>Not in this shop</h1>\n");
    EXPECT_THAT(get(program.url("/nothing"), {{"Accept", "application/json"}}).body,
                HasSubstr("\"status\":404"));
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, WhatHandlersLog) {
    Program program = start("logging/what_handlers_log");
    EXPECT_EQ(get(program.url("/orders/7")).body, "order 7\n");
    EXPECT_EQ(get(program.url("/orders/0")).status, 500);
    EXPECT_EQ(ask("POST", program.url("/debug/true"), "").status, 204);
    EXPECT_EQ(program.end(), 0);
    EXPECT_THAT(program.output(),
                HasSubstr("\"level\":\"info\",\"scope\":\"app\",\"text\":\"an order\""));
    EXPECT_THAT(program.output(),
                HasSubstr("\"method\":\"GET\",\"route\":\"/orders/{id}\",\"id\":7}"));
    EXPECT_THAT(program.output(),
                HasSubstr("\"route\":\"/orders/{id}\",\"type\":\"std::out_of_range\",\"what\":"));
}

TEST_F(Library, WhatMiddlewareLeaves) {
    Program program = start("middleware/groups_and_middleware_2");
    EXPECT_EQ(get(program.url("/club"), {{"X-Member", "ann"}}).body, "hello ann\n");
    EXPECT_EQ(get(program.url("/club")).status, 401);
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, Counting) {
    Program program = start("metrics/counting");
    EXPECT_EQ(ask("POST", program.url("/buy/7"), "").body, "sold\n");
    const std::string page(get(program.url("/metrics")).body);
    EXPECT_THAT(page, HasSubstr("\nshop_sold_total{shop=\"harbour\"} 1\n"));
    EXPECT_THAT(page, HasSubstr("\nshop_stock -1.0\n"));
    EXPECT_THAT(page, HasSubstr("\nshop_price_euros_bucket{le=\"20.0\"} 1\n"));
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, Sessions) {
    Program program = start("authentication/sessions");
    EXPECT_EQ(get(program.url("/")).body, "hello \n");
    const auto wrong = ask("POST", program.url("/login"), "name=ann&password=x", form);
    EXPECT_EQ(wrong.header("Location"), "/login?wrong");
    const auto right = ask("POST", program.url("/login"), "name=ann&password=secret", form);
    EXPECT_EQ(right.header("Location"), "/");
    const std::string cookie = cookie_of(right);
    EXPECT_THAT(cookie, HasSubstr("__Host-"));
    EXPECT_EQ(get(program.url("/"), {{"Cookie", cookie}}).body, "hello ann\n");
    ask("POST", program.url("/logout"), "", "", {{"Cookie", cookie}});
    EXPECT_EQ(get(program.url("/"), {{"Cookie", cookie}}).body, "hello \n");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, SignedCookies) {
    Program without = start("authentication/signed_cookies");
    EXPECT_EQ(without.wait(), 2) << "there is no secret";
    ::setenv("COOKIE_SECRET", "32 bytes that are no secret here", 1);
    Program program = start("authentication/signed_cookies");
    ::unsetenv("COOKIE_SECRET");
    EXPECT_EQ(get(program.url("/")).body, "theme: light\n");
    const auto dark = ask("POST", program.url("/dark"));
    EXPECT_EQ(dark.status, 204);
    EXPECT_EQ(get(program.url("/"), {{"Cookie", cookie_of(dark)}}).body, "theme: dark\n");
    EXPECT_EQ(get(program.url("/"), {{"Cookie", "theme=dark"}}).body, "theme: light\n");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, TokensInForms) {
    Program program = start("authentication/tokens_in_forms");
    const auto page = get(program.url("/"));
    const auto begin = page.body.find("value=") + 6;
    const std::string token = page.body.substr(begin, page.body.find('>', begin) - begin);
    const Headers cookie = {{"Cookie", cookie_of(page)}};
    EXPECT_EQ(ask("POST", program.url("/notes"), "text=tea", form, cookie).status, 403);
    EXPECT_EQ(ask("POST", program.url("/notes"), "csrf=" + token + "&text=tea", form, cookie).body,
              "kept tea\n");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, BehindAProxyAndCompression) {
    Program program = start("deployment/behind_a_proxy_and_compression");
    const auto answer = get(program.url("/"), {{"X-Forwarded-Proto", "https"}});
    EXPECT_EQ(answer.body, "in clear\n") << "127.0.0.1 is not trusted";
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, OpenApi) {
    Program program = start("openapi/openapi");
    EXPECT_EQ(get(program.url("/boats/3")).body, "{\"id\":3,\"name\":\"heron\"}");
    EXPECT_EQ(ask("POST", program.url("/boats"), R"({"name":"tern"})", json).status, 401);
    EXPECT_THAT(get(program.url("/docs")).body, HasSubstr("data-document=\"openapi.json\""));
    const auto document = get(program.url("/openapi.json"));
    EXPECT_THAT(document.body, HasSubstr("\"title\":\"Harbour\""));
    EXPECT_THAT(document.body, HasSubstr("\"maxLength\":40"));
    EXPECT_THAT(document.body, HasSubstr("\"operationId\":\"getBoat\""));
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, ComingFromAnotherFramework) {
    folder.write("public/a.txt", "a file\n");
    folder.write("report.pdf", "%PDF");
    Program program = start("coming_from/the_programs");
    EXPECT_EQ(get(program.url("/boats/3")).body, "{\"id\":3,\"name\":\"heron\"}");
    EXPECT_EQ(ask("POST", program.url("/boats"), R"({"name":"tern"})", json).status, 201);
    EXPECT_EQ(ask("POST", program.url("/boats"), R"({"name":"flotsam"})", json).status, 409);
    EXPECT_EQ(ask("POST", program.url("/sign-up"), "name=tern", form).body, "tern\n");
    EXPECT_EQ(ask("POST", program.url("/raw"), "tide").body, "tide");
    EXPECT_EQ(get(program.url("/search?q=tea")).body, "tea\n");
    EXPECT_EQ(get(program.url("/files/a/b")).body, "a/b");
    EXPECT_EQ(get(program.url("/agent"), {{"User-Agent", "heron"}}).body, "heron");
    EXPECT_EQ(get(program.url("/teapot")).status, 418);
    EXPECT_EQ(get(program.url("/old")).header("Location"), "/");
    EXPECT_EQ(get(program.url("/report")).body, "%PDF");
    EXPECT_EQ(get(program.url("/static/a.txt")).body, "a file\n");
    EXPECT_EQ(get(program.url("/harbour")).header("X-Harbour"), "north");
    EXPECT_EQ(get(program.url("/closed")).status, 403);
    EXPECT_EQ(get(program.url("/me")).header("Location"), "/login");
    const std::string cookie = cookie_of(ask("POST", program.url("/login")));
    EXPECT_EQ(get(program.url("/me"), {{"Cookie", cookie}}).body, "ann\n");
    EXPECT_EQ(get(program.url("/theme")).body, "light");
    EXPECT_EQ(cookie_of(ask("POST", program.url("/theme"))), "theme=dark");
    EXPECT_EQ(get(program.url("/slow")).body, "done\n");
    EXPECT_EQ(get(program.url("/later")).body, "now\n");
    EXPECT_EQ(get(program.url("/api/tides")).body, "ebb\n");
    EXPECT_THAT(get(program.url("/openapi.json")).body, HasSubstr("\"title\":\"Harbour\""));
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, WhichVersionItIs) {
    Program program = start("stable/which_version_is_it");
    EXPECT_EQ(program.wait(), 0);
    EXPECT_EQ(program.output(), "compiled with Tiderace " TIDERACE_VERSION_TEXT "\n");
}

TEST_F(Library, AFileOfSettings) {
    folder.write("wrong.json", R"({"listen": ":0", "greetings": "ahoy"})");
    Program wrong(folder, "configuration/a_file_of_settings", {"wrong.json"});
    EXPECT_EQ(wrong.wait(), 1);
    EXPECT_THAT(wrong.output(), HasSubstr("wrong.json: greeting: is required"));
    folder.write("settings.json", block_after("docs/configuration.md", "With `settings.json`"));
    Program program = start("configuration/a_file_of_settings");
    EXPECT_EQ(get(program.url("/")).body, "ahoy\n");
    EXPECT_EQ(program.end(), 0);
}

tiderace::Task<std::string> read_page(std::string place, tiderace::tcp::ConnectOptions options) {
    auto stream = co_await tiderace::tcp::connect(place, options);
    if (!stream) co_return stream.error().message();
    co_await stream->write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    std::string heard;
    while (auto bytes = co_await stream->read()) heard += *bytes;
    co_return heard;
}

TEST_F(Library, CertificatesOfClients) {
    const tiderace::testing::Authority authority;
    const auto files = authority.issue(folder, "server", {.names = {"127.0.0.1", "localhost"}});
    const auto ada = authority.issue(folder, "ada", {.common_name = "ada"});
    const std::string ca = authority.write(folder, "ca.pem");
    Program program(folder, "authentication/certificates_of_clients",
                    {files.certificate, files.key, ca});
    const std::string place = "localhost" + program.place().substr(9);
    const tiderace::tcp::ClientTls member({.ca = ca, .certificate = {ada.certificate, ada.key}});
    EXPECT_THAT(tiderace::run(read_page(place, {.security = &member})), HasSubstr("hello CN=ada"));
    const tiderace::tcp::ClientTls stranger({.ca = ca});
    EXPECT_THAT(tiderace::run(read_page(place, {.security = &stranger})),
                HasSubstr("hello stranger"));
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, Serving) {
    Program program = start("deployment/serving");
    EXPECT_EQ(get(program.url("/healthz")).status, 200);
    EXPECT_EQ(get(program.url("/readyz")).status, 200);
    EXPECT_TRUE(std::filesystem::is_socket(folder.path_of("app.sock")));
    EXPECT_EQ(ask("POST", program.url("/end")).status, 204);
    EXPECT_EQ(get(program.url("/readyz")).status, 503) << "during the notice";
    EXPECT_EQ(program.wait(), 0) << "after the notice of five seconds";
}

TEST_F(Library, MetricsOfClients) {
    Program program = start("metrics/clients");
    EXPECT_THAT(get(program.url("/balance")).body, HasSubstr("connection refused"));
    EXPECT_THAT(get(program.url("/metrics")).body,
                HasSubstr("tiderace_upstream_connections_open{upstream=\"payments\"} 0\n"));
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, MetricsOfDatabases) {
    Program program = start("metrics/databases");
    EXPECT_EQ(get(program.url("/tables")).body, "{\"rows\":0}");
    const std::string page = get(program.url("/metrics")).body;
    EXPECT_THAT(page, HasSubstr("_open{database=\"tides\",state=\"active\"} 0\n"));
    EXPECT_THAT(page, HasSubstr("_connections_opened_total{database=\"tides\"} 1\n"));
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Library, Jobs) {
    Program program = start("deployment/jobs");
    while (get(program.url("/expired")).body == "0") {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(program.end(), 0);
}

}  // namespace
}  // namespace documents

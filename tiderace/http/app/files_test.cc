#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/ready_middleware.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http {
namespace {

class AppFilesTest : public AppTest {
  protected:
    AppFilesTest() {
        std::filesystem::create_directory(folder.path() + "/inner");
        std::ofstream(folder.path() + "/a.txt") << "file a";
        std::ofstream(folder.path() + "/inner/index.html") << "<p>inner";
        std::ofstream(folder.path() + "/.secret") << "secret";
    }

    testing::TemporaryFolder folder;
};

TEST_F(AppFilesTest, AFolderIsServedBelowItsPrefix) {
    app.use(request_ids());
    app.files("/static", folder.path());
    app.get<"/a.txt">([] { return "a route"; });
    ASSERT_EQ(app.fault(), "");
    const std::string answer = get("/static/a.txt");
    EXPECT_EQ(body_of(answer), "file a");
    EXPECT_NE(answer.find("ETag: "), std::string::npos);
    EXPECT_NE(answer.find("X-Request-Id: "), std::string::npos) << "it has the App's middleware";
    EXPECT_EQ(body_of(get("/static/inner/")), "<p>inner");
    const std::string away = get("/static/inner");
    EXPECT_NE(away.find("Location: /static/inner/\r\n"), std::string::npos) << away;
    for (const char* missing :
         {"/static/nothing", "/static/.secret", "/static", "/static/../a.txt/x",
          "/static/%2e%2e/etc/passwd", "/inner/index.html"}) {
        EXPECT_EQ(status_of(get(missing)), "404") << missing;
    }
    EXPECT_EQ(body_of(get("/a.txt")), "a route");
    EXPECT_EQ(status_of(ask("POST", "/static/a.txt")), "405");
    EXPECT_EQ(status_of(ask("GET", "/static/a.txt", "Range: bytes=0-1\r\n")), "206");
}

TEST_F(AppFilesTest, MiddlewareOfAFolderIsForItsFilesAlone) {
    app.files("/other", folder.path());
    const auto mark = [](const Request&, Response& r) { r.set_header("X-Folder", "static"); };
    const auto only_a = [](const Request& request) -> std::optional<Problem> {
        if (request.path.ends_with("/a.txt")) return std::nullopt;
        return Problem{.status = 404};
    };
    app.files("/static", folder.path(), {mark, only_a});
    const std::string answer = get("/static/a.txt");
    EXPECT_EQ(body_of(answer), "file a");
    EXPECT_NE(answer.find("X-Folder: static"), std::string::npos);
    EXPECT_EQ(status_of(get("/static/inner/index.html")), "404");
    EXPECT_EQ(get("/other/a.txt").find("X-Folder"), std::string::npos);
    EXPECT_EQ(body_of(get("/other/inner/index.html")), "<p>inner");
}

TEST_F(AppFilesTest, FilesHaveEachSecurityHeaderOnce) {
    app.use(security_headers());
    app.files("/static", folder.path());
    const std::string answer = get("/static/a.txt");
    const std::size_t first = answer.find("nosniff");
    EXPECT_NE(first, std::string::npos);
    EXPECT_EQ(answer.find("nosniff", first + 1), std::string::npos) << answer;
    EXPECT_NE(answer.find("Content-Security-Policy: "), std::string::npos);
}

TEST_F(AppFilesTest, RoutesComeBeforeFilesOfTheRoot) {
    app.files("/", folder.path());
    app.get<"/hello">([] { return "hello"; });
    EXPECT_EQ(body_of(get("/hello")), "hello");
    EXPECT_EQ(body_of(get("/a.txt")), "file a");
}

TEST_F(AppFilesTest, AFolderThatIsNotThereIsSaidWhenItServes) {
    app.files("/static", folder.path() + "/missing");
    EXPECT_EQ(app.fault(), "files /static: " + folder.path() + "/missing is no directory");
}

}  // namespace
}  // namespace tiderace::http

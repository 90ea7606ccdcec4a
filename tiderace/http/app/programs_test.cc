#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http {
namespace {

class AppProgramsTest : public AppTest {
  protected:
    void program(std::string_view name, std::string_view lines) {
        folder.write(name, "#!/bin/sh\n" + std::string(lines) + "\n");
        ::chmod(folder.path_of(name).c_str(), 0755);
    }
    testing::TemporaryFolder folder;
};

TEST_F(AppProgramsTest, FaultsAreSentences) {
    app.cgi("/cgi-bin", folder.path() + "/absent");
    EXPECT_NE(app.fault().find("is no directory"), std::string::npos);
    App other;
    other.fastcgi("/app", "nowhere at all");
    EXPECT_NE(other.fault().find("fastcgi /app"), std::string::npos);
    App third;
    third.fastcgi("*.php", "unix:/absent.sock");
    EXPECT_NE(third.fault(), "") << "a glob needs a folder of scripts";
    App fourth;
    fourth.group<"/of/{owner}">().cgi("/cgi-bin", folder.path());
    EXPECT_EQ(fourth.fault(), "cgi /of/{owner}/cgi-bin: its prefix has no parameters");
}

TEST_F(AppProgramsTest, WhatIsNoProgramIs404) {
    folder.write("plain.txt", "password");
    app.cgi("/cgi-bin", folder.path());
    app.fastcgi("*.php", "unix:" + folder.path_of("absent.sock"), folder.path());
    app.get<"/route">([] { return "a route"; });
    ASSERT_EQ(app.fault(), "");
    EXPECT_EQ(status_of(get("/cgi-bin/absent")), "404");
    EXPECT_EQ(status_of(get("/cgi-bin/plain.txt")), "403");
    EXPECT_EQ(status_of(get("/absent.php")), "404");
    EXPECT_EQ(status_of(get("/plain.txt")), "404");
    EXPECT_EQ(body_of(get("/route")), "a route");
}

// On a real loop, because programs need one.
TEST_F(AppProgramsTest, ProgramsAnswerAndRedirect) {
    const std::string hello =
        "echo 'Content-Type: text/plain'; echo; echo \"$SCRIPT_NAME $PATH_INFO\"";
    program("hello", hello);
    program("near", "echo 'Location: /route#part'; echo");
    app.cgi("/cgi-bin", folder.path());
    app.group("/shop")
        .use([](const Request&, Response& response) { response.set_header("X-Shop", "1"); })
        .cgi("/", folder.path())
        .files("/files", folder.path());
    app.host("other.example").cgi("/", folder.path());
    ASSERT_EQ(app.fault(), "");
    const auto loop = std::move(*core::EventLoop::create({}));
    AppLoop handler(*loop, app, nullptr);
    const auto answer = [&](std::string_view target, ByteView host = "localhost") {
        const auto exchange = core::make_ref<testing::RecordedExchange>(*loop, "GET", target);
        exchange->set_authority(host);
        handler.site().serve(*exchange);
        if (!exchange->responded()) exchange->end_body();
        for (int i = 0; i < 10'000 && !exchange->complete(); ++i) {
            loop->turn(5ms);
            if (exchange->responded()) exchange->finish();
        }
        return exchange;
    };
    EXPECT_EQ(answer("/cgi-bin/hello/x")->body(), "/cgi-bin/hello /x\n");
    const auto near = answer("/cgi-bin/near");
    EXPECT_EQ(near->status(), 302);
    EXPECT_EQ(near->header("Location"), "/route#part");
    const auto grouped = answer("/shop/hello/x/y");
    EXPECT_EQ(grouped->body(), "/shop/hello /x/y\n");
    EXPECT_EQ(grouped->header("X-Shop"), "1");
    EXPECT_EQ(answer("/shop/files/hello")->body(), "#!/bin/sh\n" + hello + "\n");
    EXPECT_EQ(answer("/hello", "other.example:80")->body(), "/hello \n");
    EXPECT_EQ(answer("/hello")->status(), 404);
}

}  // namespace
}  // namespace tiderace::http

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
    program("hello", "echo 'Content-Type: text/plain'; echo; echo \"$SCRIPT_NAME $PATH_INFO\"");
    program("near", "echo 'Location: /route#part'; echo");
    app.cgi("/cgi-bin", folder.path());
    const auto loop = std::move(*core::EventLoop::create({}));
    AppLoop handler(*loop, app, nullptr);
    const auto answer = [&](std::string_view target) {
        const auto exchange = core::make_ref<testing::RecordedExchange>(*loop, "GET", target);
        handler.site().serve(*exchange);
        exchange->end_body();
        for (int i = 0; i < 10'000 && !exchange->complete(); ++i) {
            loop->turn(5ms);
            if (exchange->responded()) exchange->finish();
        }
        return exchange;
    };
    EXPECT_EQ(answer("/cgi-bin/hello/x")->body(), "/cgi-bin/hello /x\n");
    const auto near = answer("/cgi-bin/near");
    EXPECT_EQ(near->status(), 302);
    EXPECT_EQ(near->field("Location"), "/route#part");
}

}  // namespace
}  // namespace tiderace::http

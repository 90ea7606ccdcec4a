#include "server/programs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

class ProgramsTest : public ::testing::Test, public http::Handler {
  protected:
    ProgramsTest() {
        options_.root = root_.path();
        folder_.write("hello", "#!/bin/sh\necho 'Status: 201'; echo\n");
        ::chmod(folder_.path_of("hello").c_str(), 0755);
    }
    void handle(http::Exchange& exchange) override { exchange.respond_status(299); }
    Result<std::unique_ptr<Programs>> create() {
        return Programs::create(*loop_, options_, places_, *this);
    }
    int status(Programs& programs, std::string_view target) {
        const auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", target);
        programs.handle(*exchange);
        if (!exchange->responded()) exchange->end_body();
        for (int i = 0; i < 10'000 && !exchange->responded(); ++i) loop_->turn(5ms);
        return exchange->status();
    }

    testing::TemporaryFolder root_;
    testing::TemporaryFolder folder_;
    ServeOptions options_;
    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    std::shared_ptr<http::cgi::ProgramPlaces> places_ =
        std::make_shared<http::cgi::ProgramPlaces>(2, 2);
};

TEST_F(ProgramsTest, EachPathGoesWhereItBelongs) {
    EXPECT_FALSE(Programs::wanted(options_));
    options_.cgi.folders = {{"/cgi-bin", folder_.path()}};
    EXPECT_TRUE(Programs::wanted(options_));
    auto programs = create();
    ASSERT_TRUE(programs);
    EXPECT_EQ(status(**programs, "/cgi-bin/hello"), 201);
    EXPECT_EQ(status(**programs, "/cgi-bin/absent"), 404);
    EXPECT_EQ(status(**programs, "/other"), 299);
}

TEST_F(ProgramsTest, TheLongestPrefixWins) {
    options_.cgi.folders = {{"/a", root_.path() + "/.."}, {"/a/b", folder_.path()}};
    auto programs = create();
    ASSERT_TRUE(programs) << programs.error().message();
    EXPECT_EQ(status(**programs, "/a/b/hello"), 201);
}

TEST_F(ProgramsTest, AFolderWhoseProgramsWouldBeSentIsRefused) {
    root_.make_folder("cgi-bin");
    options_.cgi.folders = {{"/run", root_.path_of("cgi-bin")}};
    const auto refused = create();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("--cgi /cgi-bin="), std::string::npos);
    options_.cgi.folders = {{"/cgi-bin", root_.path_of("cgi-bin")}};
    EXPECT_TRUE(create());
    options_.cgi.folders = {{"/cgi-bin", root_.path_of("absent")}};
    const auto absent = create();
    ASSERT_FALSE(absent);
    EXPECT_NE(absent.error().message().find("--cgi PATH=DIR"), std::string::npos);
}

TEST_F(ProgramsTest, TheServedFolderItselfIsRefusedWithoutAdviceThatDoesNotHelp) {
    options_.cgi.folders = {{"/run", root_.path()}};
    const auto refused = create();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("is the served folder"), std::string::npos);
    EXPECT_EQ(refused.error().message().find("--cgi"), std::string::npos);
}

TEST_F(ProgramsTest, AFolderWithTwoDotsInItsNameIsInsideAsWell) {
    root_.make_folder("..cgi");
    options_.cgi.folders = {{"/run", root_.path_of("..cgi")}};
    EXPECT_FALSE(create());
    // Above the served folder, nothing of it is sent.
    options_.cgi.folders = {{"/run", root_.path() + "/.."}};
    EXPECT_TRUE(create());
}

// Found by hand: --spa=index.php sent the source of index.php for every path that was not found.
TEST_F(ProgramsTest, ASourceThatWouldBeSentInPlaceOfAnotherPathIsRefused) {
    root_.write("index.php", "<?php $password = 'secret';");
    root_.write("404.html", "not found");
    root_.make_folder("cgi-bin");
    options_.cgi.folders = {{"/cgi-bin", root_.path_of("cgi-bin")}};
    options_.cgi.fastcgi = {{"*.php", *core::Address::parse("127.0.0.1:9")}};
    const auto expect_refused = [&](std::string_view flag) {
        const auto refused = create();
        ASSERT_FALSE(refused) << flag;
        EXPECT_NE(refused.error().message().find(flag), std::string::npos)
            << refused.error().message();
    };
    options_.spa_file = "index.php";
    expect_refused("--spa index.php");
    options_.spa_file = "cgi-bin/page";
    expect_refused("--spa cgi-bin/page");
    options_.spa_file = "404.html";
    EXPECT_TRUE(create());
    for (const std::string& file : {std::string("index.php"), root_.path_of("index.php"),
                                    std::string("./cgi-bin/../index.php")}) {
        options_.error_pages = {{404, file}};
        expect_refused("--error-page");
    }
    options_.error_pages = {{404, "404.html"}, {500, folder_.path_of("outside.php")}};
    EXPECT_TRUE(create());
    options_.paths.error_pages = {{"/a", {404, "index.php"}}};
    expect_refused("--path-error-page");
}

TEST_F(ProgramsTest, CleanUrlsAndScriptsThatEndInHtmlAreRefused) {
    options_.cgi.fastcgi = {{"*.html", *core::Address::parse("127.0.0.1:9")}};
    EXPECT_TRUE(create());
    options_.clean_urls = true;
    const auto refused = create();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("--clean-urls"), std::string::npos);
    options_.cgi.fastcgi = {{"*.php", *core::Address::parse("127.0.0.1:9")}};
    EXPECT_TRUE(create());
}

// A path that leads to a peer has no scripts among the served files.
TEST_F(ProgramsTest, APageBelowThePathOfAPeerIsNoSource) {
    root_.make_folder("app");
    root_.write("app/index.html", "page");
    options_.cgi.fastcgi = {{"/app", *core::Address::parse("127.0.0.1:9")}};
    options_.spa_file = "app/index.html";
    EXPECT_TRUE(create());
}

}  // namespace
}  // namespace tiderace::server

#include "server/programs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

class ProgramsTest : public ::testing::Test {
  protected:
    ProgramsTest() {
        options_.root = root_.path();
        folder_.write("hello", "#!/bin/sh\necho 'Status: 201'; echo\n");
        ::chmod(folder_.path_of("hello").c_str(), 0755);
    }
    Result<std::unique_ptr<Programs>> create() {
        return Programs::create(*loop_, options_, places_);
    }
    void set_cgi(std::string path, std::string folder) {
        options_.routes = {{.match = {.path = std::move(path)}, .cgi = std::move(folder)}};
    }
    void add_fastcgi(std::string path) {
        options_.routes.push_back(
            {.match = {.path = std::move(path)}, .fastcgi = *core::Address::parse("127.0.0.1:9")});
    }
    int status(http::Handler& handler, std::string_view target) {
        const auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", target);
        handler.handle(*exchange);
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

TEST_F(ProgramsTest, ARouteHasItsHandler) {
    EXPECT_FALSE(Programs::wanted(options_));
    set_cgi("/cgi-bin", folder_.path());
    EXPECT_TRUE(Programs::wanted(options_));
    auto programs = create();
    ASSERT_TRUE(programs);
    EXPECT_EQ(status(*(*programs)->of_route(options_.routes[0].match), "/cgi-bin/hello"), 201);
    EXPECT_EQ(status(*(*programs)->of_route(options_.routes[0].match), "/cgi-bin/absent"), 404);
    EXPECT_EQ((*programs)->of_route({.path = "/other"}), nullptr);
}

TEST_F(ProgramsTest, AFolderWhoseProgramsWouldBeSentIsRefused) {
    root_.make_folder("cgi-bin");
    set_cgi("/run", root_.path_of("cgi-bin"));
    const auto refused = create();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("the one there, /cgi-bin"), std::string::npos);
    set_cgi("/cgi-bin", root_.path_of("cgi-bin"));
    EXPECT_TRUE(create());
    set_cgi("/cgi-bin", root_.path_of("absent"));
    const auto absent = create();
    ASSERT_FALSE(absent);
    EXPECT_NE(absent.error().message().find("--cgi PATH=DIR"), std::string::npos);
}

TEST_F(ProgramsTest, AFolderHasItsPlaceInsideAnother) {
    root_.make_folder("a/b");
    EXPECT_EQ(place_inside(root_.path(), root_.path_of("a/b")), "/a/b");
    EXPECT_EQ(place_inside(root_.path(), root_.path_of("a/../a")), "/a");
    EXPECT_EQ(place_inside(root_.path(), root_.path()), "");
    EXPECT_EQ(place_inside(root_.path_of("a"), root_.path()), "");
    EXPECT_EQ(place_inside(root_.path(), folder_.path()), "");
}

TEST_F(ProgramsTest, PrivateFilesOfTheFolderAreNotSent) {
    options_.private_files = {root_.path_of("site.toml"), root_.path_of("a/*.toml"),
                              folder_.path_of("users")};
    EXPECT_EQ(unsent_paths(options_), (std::vector<std::string>{"=/site.toml", "=/a/*.toml"}));
}

TEST_F(ProgramsTest, TheServedFolderItselfIsRefusedWithoutAdviceThatDoesNotHelp) {
    set_cgi("/run", root_.path());
    const auto refused = create();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("is the served folder"), std::string::npos);
    EXPECT_EQ(refused.error().message().find("--cgi"), std::string::npos);
}

TEST_F(ProgramsTest, AFolderWithTwoDotsInItsNameIsInsideAsWell) {
    root_.make_folder("..cgi");
    set_cgi("/run", root_.path_of("..cgi"));
    EXPECT_FALSE(create());
    // Above the served folder, nothing of it is sent.
    set_cgi("/run", root_.path() + "/..");
    EXPECT_TRUE(create());
}

// Found by hand: --spa=index.php sent the source of index.php for every path that was not found.
TEST_F(ProgramsTest, ASourceThatWouldBeSentInPlaceOfAnotherPathIsRefused) {
    root_.write("index.php", "<?php $password = 'secret';");
    root_.write("404.html", "not found");
    root_.make_folder("cgi-bin");
    set_cgi("/cgi-bin", root_.path_of("cgi-bin"));
    add_fastcgi("*.php");
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
    options_.routes.push_back({.match = {.path = "/a"}, .error_pages = {{404, "index.php"}}});
    expect_refused("--path-error-page");
}

TEST_F(ProgramsTest, CleanUrlsAndScriptsThatEndInHtmlAreRefused) {
    options_.routes.clear();
    add_fastcgi("*.html");
    EXPECT_TRUE(create());
    options_.clean_urls = true;
    const auto refused = create();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("--clean-urls"), std::string::npos);
    options_.routes.clear();
    add_fastcgi("*.php");
    EXPECT_TRUE(create());
}

// A path that leads to a peer has no scripts among the served files.
TEST_F(ProgramsTest, APageBelowThePathOfAPeerIsNoSource) {
    root_.make_folder("app");
    root_.write("app/index.html", "page");
    options_.routes.clear();
    add_fastcgi("/app");
    options_.spa_file = "app/index.html";
    EXPECT_TRUE(create());
}

}  // namespace
}  // namespace tiderace::server

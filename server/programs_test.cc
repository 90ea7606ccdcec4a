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
        return Programs::create(*loop_, options_, places_, rules_, *this);
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
    PathRules rules_{options_};
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

}  // namespace
}  // namespace tiderace::server

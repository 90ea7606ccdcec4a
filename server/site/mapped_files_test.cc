#include "server/site/mapped_files.h"

#include <gtest/gtest.h>

#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

class MappedFilesTest : public ::testing::Test {
  protected:
    MappedFilesTest() {
        folder_.write("a.txt", "a");
        folder_.write("b.html", "b");
        folder_.make_folder("sub");
        folder_.write("sub/index.html", "sub");
        http::handler::StaticFilesOptions options;
        options.root = folder_.path();
        files_ = std::move(*http::handler::StaticFiles::create(*loop_, options));
    }
    std::string ask(const FileSettings& settings, std::string_view target,
                    ByteView host = "localhost", std::string_view path = "") {
        MappedFiles mapped(files_.get(), nullptr, settings, {.path = std::string(path)}, {});
        const auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", target);
        exchange->set_authority(host);
        mapped.handle(*exchange);
        EXPECT_TRUE(exchange->finish());
        if (exchange->status() != 200) return std::to_string(exchange->status());
        return exchange->body();
    }

    testing::TemporaryFolder folder_;
    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    std::unique_ptr<http::handler::StaticFiles> files_;
};

TEST_F(MappedFilesTest, APartOfThePathIsTakenAwayOrPutBefore) {
    EXPECT_EQ(ask({.strip = "/x"}, "/x/a.txt"), "a");
    EXPECT_EQ(ask({.strip = "/x"}, "/xa.txt"), "404");
    EXPECT_EQ(ask({.prefix = "/sub"}, "/index.html"), "sub");
    EXPECT_EQ(ask({.strip = "/x", .prefix = "/sub"}, "/x/"), "sub");
    EXPECT_EQ(ask({.strip = "/x", .prefix = "/sub"}, "/x"), "301") << "a folder has a slash";
}

TEST_F(MappedFilesTest, AHostIsAFolder) {
    const FileSettings by_label{.prefix = "/{host.1}"};
    EXPECT_EQ(ask(by_label, "/index.html", "SUB.example:80"), "sub");
    EXPECT_EQ(ask(by_label, "/", "sub"), "sub");
    EXPECT_EQ(ask({.prefix = "/{host.2}"}, "/", "x.sub.example"), "sub");
    for (const ByteView host : {"", ".", "..", "[::1]", ".sub", "a..b", "%73ub", "other.example"}) {
        EXPECT_EQ(ask(by_label, "/", host), "404") << host;
    }
    EXPECT_EQ(ask({.prefix = "/{host.3}"}, "/", "sub.example"), "404") << "it has two labels";
}

TEST_F(MappedFilesTest, NamesAreTriedInTurnAndTheLastIsTaken) {
    const FileSettings settings{.tries = {"{path}", "{path}/", "{path}.html", "/a.txt"}};
    EXPECT_EQ(ask(settings, "/a.txt"), "a");
    EXPECT_EQ(ask(settings, "/b"), "b");
    EXPECT_EQ(ask(settings, "/sub/"), "sub");
    EXPECT_EQ(ask(settings, "/sub"), "301");
    EXPECT_EQ(ask(settings, "/nothing"), "a");
    EXPECT_EQ(ask({.tries = {"{path}", "/none"}}, "/nothing"), "404");
    EXPECT_EQ(ask({.tries = {"{path}"}, .or_status = 410}, "/nothing"), "410");
    EXPECT_EQ(ask({.tries = {"/sub{rest}"}}, "/old/index.html", "localhost", "/old"), "sub");
    EXPECT_EQ(ask({.tries = {"/{2}/{1}.html"}}, "/x/index/sub", "localhost", "/x/*/*"), "sub");
    EXPECT_EQ(ask({.tries = {"/{1}"}}, "/x", "localhost", "/y/*"), "404");
}

}  // namespace
}  // namespace tiderace::server

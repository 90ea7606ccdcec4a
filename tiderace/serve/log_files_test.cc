#include "tiderace/serve/log_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::serve {
namespace {

TEST(LogFiles, OneFileIsOpenedOnceHoweverItIsSpelled) {
    const testing::TemporaryFolder folder;
    const std::string spelled = folder.path() + "/./log";
    LogFiles files;
    for (const std::string& path : {folder.path_of("log"), spelled, folder.path_of("other")}) {
        const auto opened = files.open(path);
        ASSERT_TRUE(opened) << opened.error().message();
    }
    EXPECT_EQ(files.stream(spelled), files.stream(folder.path_of("log")));
    EXPECT_NE(files.stream(spelled), files.stream(folder.path_of("other")));
}

TEST(LogFiles, OffIsNowhereAndAFolderThatIsMissingSaysSo) {
    const testing::TemporaryFolder folder;
    LogFiles files;
    ASSERT_TRUE(files.open("off"));
    EXPECT_EQ(files.stream("off"), nullptr);
    EXPECT_EQ(AccessLogs(files).find({.path = "off"}), nullptr);
    const auto opened = files.open(folder.path_of("absent/log"));
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message().find("its folder must exist"), std::string::npos);
}

TEST(LogFiles, DiagnosticsGoToAFileInTheirFormatFromTheirLevelOn) {
    const testing::TemporaryFolder folder;
    const std::string path = folder.path_of("log");
    std::atomic<log::Level> level = log::Level::warning;
    {
        LogFiles files({.diagnostics = path, .format = log::Format::json, .level = &level});
        ASSERT_TRUE(files.open_diagnostics());
        ASSERT_TRUE(files.open(path)) << "the access log goes there, too";
        ASSERT_TRUE(files.writer().start());
        const auto logger = files.make_logger();
        logger->info("app", "one");
        logger->warning("app", "two");
        level = log::Level::info;
        logger->info("app", "three");
        files.writer().stop();
    }
    std::ifstream file(path);
    std::string first, second, third;
    std::getline(file, first);
    std::getline(file, second);
    EXPECT_NE(first.find(R"("level":"warning","scope":"app","text":"two")"), first.npos) << first;
    EXPECT_NE(second.find(R"("text":"three")"), second.npos) << second;
    EXPECT_FALSE(std::getline(file, third));
}

TEST(LogFiles, DiagnosticsThatCannotBeOpenedSaySo) {
    const testing::TemporaryFolder folder;
    LogFiles files({.diagnostics = folder.path_of("absent/log")});
    const auto opened = files.open_diagnostics();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().operation(), "open log");
    EXPECT_FALSE(LogFiles({.diagnostics = "off"}).open_diagnostics());
}

TEST(AccessLogs, OneFormatOfOneFileIsOneLog) {
    const testing::TemporaryFolder folder;
    const std::string path = folder.path_of("log");
    LogFiles files;
    ASSERT_TRUE(files.open(path));
    AccessLogs logs(files);
    EXPECT_TRUE(logs.empty());
    http::AccessLog* const common = logs.find({path, http::AccessLogFormat::common});
    EXPECT_EQ(logs.find({path, http::AccessLogFormat::common}), common);
    EXPECT_NE(logs.find({path, http::AccessLogFormat::json}), common);
    // Each of a thousand readings may have other rules: they all share a ring.
    for (int i = 1; i < 3'000; ++i) {
        const http::AccessLogRules rules{.kept_of_thinned = 1.0 / i};
        EXPECT_NE(logs.find({path, http::AccessLogFormat::common, rules}), common);
    }
    logs.forget_all_but({});
    EXPECT_TRUE(logs.empty());
}

}  // namespace
}  // namespace tiderace::serve

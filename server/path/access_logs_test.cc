#include "server/path/access_logs.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tiderace/log/collecting_sink.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

struct Collected {
    explicit Collected(log::Doorbell& bell)
        : stream("access", std::make_unique<log::CollectingSink>(lines), bell) {}

    std::shared_ptr<log::CollectingSink::Lines> lines =
        std::make_shared<log::CollectingSink::Lines>();
    log::Stream stream;
};

class AccessLogsTest : public ::testing::Test {
  protected:
    // The paths that each log got.
    void write(AccessLogs& logs, const std::vector<const char*>& paths) {
        for (const char* path : paths) {
            const auto exchange = core::make_ref<testing::RecordedExchange>(
                world.loop(), "GET", path, testing::RecordedExchange::Fields());
            logs.write({.request = &exchange->request(), .status = 200});
        }
        logs.publish();
        for (Collected* each : {&all, &api, &deep}) each->stream.drain(64_KiB);
    }
    static std::size_t lines_of(const Collected& log) { return log.lines->all().size(); }

    testing::FakeWorld world;
    log::Doorbell bell;
    Collected all{bell}, api{bell}, deep{bell};
    static constexpr auto format = http::AccessLogFormat::common;
};

TEST_F(AccessLogsTest, TheLongestPathCounts) {
    const std::vector<AccessLogs::Place> places{
        {"/api", &api.stream}, {"/api/deep", &deep.stream}, {"/healthz", nullptr}};
    AccessLogs logs(&all.stream, places, format);
    write(logs, {"/", "/apis", "/ap"});
    EXPECT_EQ(lines_of(all), 3U);
    write(logs, {"/api", "/api/", "/api/deeper"});
    EXPECT_EQ(lines_of(api), 3U);
    write(logs, {"/api/deep", "/api/deep/x"});
    EXPECT_EQ(lines_of(deep), 2U);
    write(logs, {"/healthz", "/healthz/more"});
    EXPECT_EQ(lines_of(all) + lines_of(api) + lines_of(deep), 8U);
}

TEST_F(AccessLogsTest, OnePathHasOneLogAndOneFileServesMany) {
    const std::vector<AccessLogs::Place> places{
        {"/a", &api.stream}, {"/a", &deep.stream}, {"/b", &deep.stream}};
    AccessLogs logs(nullptr, places, format);
    write(logs, {"/a", "/b", "/c"});
    EXPECT_EQ(lines_of(deep), 2U);
    EXPECT_EQ(lines_of(api) + lines_of(all), 0U);
}

TEST_F(AccessLogsTest, AllPathsMayHaveAnother) {
    const std::vector<AccessLogs::Place> places{{"", &deep.stream}};
    AccessLogs logs(&all.stream, places, format);
    write(logs, {"/", "/a"});
    EXPECT_EQ(lines_of(deep), 2U);
    EXPECT_EQ(lines_of(all), 0U);
}

// A rotation by one of two sinks would pull the file away from the other.
TEST_F(AccessLogsTest, OneFileIsOpenedOnceHoweverItIsSpelled) {
    const testing::TemporaryFolder folder;
    ServeOptions options;
    options.access_log = folder.path_of("log");
    options.paths.logs = {{"/a", folder.path() + "/./log"}, {"/b", folder.path_of("other")}};
    log::SystemTime time;
    log::Writer writer(time, {});
    const auto opened = open_access_logs(options, writer, {});
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_EQ(opened->places[0].stream, opened->otherwise);
    EXPECT_NE(opened->places[1].stream, opened->otherwise);
}

}  // namespace
}  // namespace tiderace::server

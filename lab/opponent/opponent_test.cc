#include "lab/opponent/opponent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "lab/opponent/launches.h"
#include "tiderace/testing/environment_variable.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::lab {
namespace {

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const Opponent& one : opponents()) all.emplace_back(one.name);
    return all;
}

class EveryOpponent : public ::testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        opponent_ = find_opponent(GetParam());
        ASSERT_NE(opponent_, nullptr);
        site_.write("1k.html", std::string(1000, 'x'));
        std::filesystem::permissions(site_.path(), std::filesystem::perms(0755));
        plan_ = {.folder = site_.path(), .path = "/1k.html"};
    }

    const Opponent* opponent_ = nullptr;
    OpponentPlan plan_;
    tiderace::testing::TemporaryFolder site_, temporary_;
    tiderace::testing::EnvironmentVariable temporary_folder_{"TMPDIR", temporary_.path()};
};

INSTANTIATE_TEST_SUITE_P(Opponents, EveryOpponent, ::testing::ValuesIn(names()),
                         [](const auto& name) {
                             std::string label = name.param;
                             std::ranges::replace(label, '-', '_');
                             return label;
                         });

TEST_P(EveryOpponent, IsDescribedInThreeSentences) {
    EXPECT_EQ(std::ranges::count(opponent_->what, '.') -
                  static_cast<long>(opponent_->what.find("0.") != std::string_view::npos),
              3)
        << opponent_->what;
    EXPECT_TRUE(opponent_->what.ends_with('.'));
}

TEST_P(EveryOpponent, StartsAnswersAndIsGone) {
    if (const auto absent = why_absent(*opponent_)) GTEST_SKIP() << *absent;
    EXPECT_NE(opponent_version(*opponent_), "");
    EXPECT_NE(describe_launch(*opponent_, plan_), "");
    EXPECT_FALSE(describe_launch(*opponent_, plan_).starts_with('/'));
    auto server = start_opponent(*opponent_, plan_);
    ASSERT_TRUE(server) << server.error().message();
    EXPECT_EQ(ask_once(server->address(), "/1k.html", 60s), 200);
    if (opponent_->serves_files) {
        EXPECT_EQ(ask_once(server->address(), "/none", 60s), 404);
    }
    EXPECT_FALSE(server->pids().empty());
    EXPECT_EQ(server->exit(), std::nullopt) << server->last_words();
    server->end();
    EXPECT_EQ(ask_once(server->address(), "/1k.html", 1s), std::nullopt);
    EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
}

TEST(Opponents, ThoseWithOneAnswerGiveThatOfAFoldersIndex) {
    const OpponentPlan plan{.folder = "/srv", .path = "/"};
    const core::Address address = core::Address::loopback(80);
    EXPECT_EQ(opponent::launch_floor({"floor", plan, address}).child.arguments[1],
              "/srv/index.html");
    const ServerLaunch proxy = opponent::launch_haproxy({"haproxy", plan, address});
    EXPECT_NE(proxy.files.front().second.find("/index.html\""), std::string::npos)
        << proxy.files.front().second;
    EXPECT_NE(proxy.files.front().second.find("tune.bufsize 65536\n"), std::string::npos)
        << proxy.files.front().second;
    EXPECT_LT(find_opponent("haproxy")->answer_bytes_max, 65'536U) << "there is a head, too";
}

// With fewer it closes most of the connections that should be kept.
TEST(Opponents, ApacheHasAThreadForEachClientUpToItsBound) {
    const struct {
        std::size_t clients;
        unsigned workers;
        const char* said;
    } cases[] = {{10, 1, "ThreadsPerChild 64\nMaxRequestWorkers 64\n"},
                 {1'000, 1, "ThreadsPerChild 1016\nMaxRequestWorkers 1016\n"},
                 {1'000, 2, "ThreadsPerChild 516\nMaxRequestWorkers 1032\n"},
                 {10'000, 1, "ThreadsPerChild 1024\nMaxRequestWorkers 1024\n"}};
    for (const auto& each : cases) {
        const ServerLaunch launch =
            opponent::launch_apache({"httpd",
                                     {.workers = each.workers, .connections = each.clients},
                                     core::Address::loopback(80)});
        EXPECT_NE(launch.files.front().second.find(each.said), std::string::npos)
            << launch.files.front().second;
    }
}

TEST(Opponents, AnUnknownOneIsNone) {
    EXPECT_EQ(find_opponent("iis"), nullptr);
}

TEST(Opponents, ANameThatAConfigWouldMisreadIsRefused) {
    const auto server = start_opponent(*find_opponent("floor"), {.folder = "/tmp/\"; evil"});
    ASSERT_FALSE(server);
    EXPECT_NE(server.error().message().find("plainer name"), std::string::npos);
}

TEST(Opponents, AnAbsentOneIsReportedInOneLine) {
    constexpr std::array<std::string_view, 1> foreign{"tiny-no-such-server"};
    Opponent absent = *find_opponent("nginx");
    absent.programs = foreign;
    EXPECT_EQ(why_absent(absent), "tiny-no-such-server is not installed");
    EXPECT_EQ(opponent_version(absent), "");
    EXPECT_EQ(describe_launch(absent, {}), "");
    const auto server = start_opponent(absent, {});
    ASSERT_FALSE(server);
    EXPECT_NE(server.error().message().find("not installed"), std::string::npos);
    constexpr std::array<std::string_view, 1> ours{"tiderace-lab-no-such"};
    absent.programs = ours;
    EXPECT_NE(why_absent(absent)->find("was not built"), std::string::npos);
}

}  // namespace
}  // namespace tiderace::lab

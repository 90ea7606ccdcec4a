#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tiderace/http/client/client_fixture.h"
#include "tiderace/http/client/client_response_stream.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http {
namespace {

class SaveTest : public ClientTest {
  protected:
    SaveTest() { make(); }

    // "saved N", or what is wrong.
    std::shared_ptr<std::string> begin_save(const std::string& url, SaveOptions options = {}) {
        auto told = std::make_shared<std::string>();
        runner.spawn(save(*client, url, path(), options, told));
        return told;
    }
    std::string save(const std::string& url, SaveOptions options = {}) {
        const auto told = begin_save(url, options);
        EXPECT_TRUE(world.wait_for_pool([&] { return !told->empty(); }));
        return *told;
    }
    std::string path() const { return folder_.path_of(name_); }
    std::string content() const {
        std::ostringstream all;
        all << std::ifstream(path(), std::ios::binary).rdbuf();
        return all.str();
    }
    std::size_t files() const {
        const auto begin = std::filesystem::directory_iterator(folder_.path());
        return static_cast<std::size_t>(std::distance(begin, {}));
    }

    testing::TemporaryFolder folder_;
    std::string name_ = "file";

  private:
    static task::Task<> save(Client& client, std::string url, std::string path, SaveOptions options,
                             std::shared_ptr<std::string> told) {
        auto answer = co_await client.open(ClientRequest("GET", url));
        if (!answer) {
            *told = answer.error().message;
            co_return;
        }
        const auto saved = co_await answer->save(path, options);
        *told = saved ? "saved " + std::to_string(*saved) : "! " + saved.error().message;
    }
};

TEST_F(SaveTest, ABodyIsAFileOnceAllOfItIsThere) {
    ClientTestServer server(world);
    const std::string large(300'000, 'x');
    for (const bool on_disk : {false, true}) {
        std::filesystem::remove(path());
        server.say(ok(large));
        EXPECT_EQ(save(server.url, {.on_disk = on_disk}), "saved 300000");
        EXPECT_EQ(content(), large);
        EXPECT_EQ(files(), 1U);
    }
    server.say(ok(""));
    EXPECT_EQ(save(server.url), "saved 0");
    EXPECT_EQ(content(), "") << "it took the place of the file before";
    EXPECT_EQ(std::filesystem::status(path()).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(SaveTest, ABodyThatIsCutOffLeavesTheFileBefore) {
    std::ofstream(path()) << "before";
    ClientTestServer server(world);
    server.answer = [](net::Connection& connection, const std::string&) {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe");
        connection.finish();
    };
    EXPECT_THAT(save(server.url), ::testing::HasSubstr("the connection ended inside the answer"));
    EXPECT_EQ(content(), "before");
    EXPECT_TRUE(world.wait_for_pool([&] { return files() == 1; }));
}

TEST_F(SaveTest, TheSizeHasALimitWhateverTheServerSays) {
    ClientTestServer server(world);
    server.say(ok("hello"));
    EXPECT_EQ(save(server.url, {.bytes_max = 5}), "saved 5");
    std::filesystem::remove(path());
    EXPECT_EQ(save(server.url, {.bytes_max = 4}),
              "! " + server.url + "/: the body is too large to save");
    server.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    EXPECT_THAT(save(server.url, {.bytes_max = 4}), ::testing::HasSubstr("too large to save"));
    EXPECT_TRUE(world.wait_for_pool([&] { return files() == 0; }));
}

TEST_F(SaveTest, ATaskThatEndsRemovesWhatItBegan) {
    ClientTestServer server(world);
    server.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe");  // and nothing more
    const auto told = begin_save(server.url);
    EXPECT_TRUE(world.wait_for_pool([&] { return files() == 1; })) << "the file beside it";
    EXPECT_FALSE(std::filesystem::exists(path()));
    runner.cancel_spawned();
    EXPECT_TRUE(world.wait_for_pool([&] { return files() == 0; }));
    EXPECT_EQ(*told, "");
}

// The limit of the process stands for a full disk: both fail a write.
TEST_F(SaveTest, AFullDiskIsReportedAndNothingIsLeft) {
    ClientTestServer server(world);
    server.say(ok(std::string(100'000, 'x')));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 50'000, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string told = save(server.url);
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ::signal(SIGXFSZ, handler);
    EXPECT_THAT(told,
                ::testing::MatchesRegex("! write .*/file\\.[0-9a-f]+\\.part: file too large"));
    EXPECT_TRUE(world.wait_for_pool([&] { return files() == 0; }));
}

TEST_F(SaveTest, AFolderThatIsNotThereIsReported) {
    ClientTestServer server(world);
    server.say(ok("hello"));
    name_ = "missing/file";
    EXPECT_THAT(save(server.url), ::testing::HasSubstr("no such file or directory"));
}

TEST_F(SaveTest, ProgressIsToldAndMayEndIt) {
    ClientTestServer server(world);
    server.say(ok("hello"));
    std::string told;
    const auto with_progress = [](Client& asking, std::string url, std::string path,
                                  std::string& text, bool throws) -> task::Task<> {
        auto answer = co_await asking.open(ClientRequest("GET", url));
        if (!answer) co_return;
        const auto progress = [&text, throws](const SaveProgress& done) {
            text += std::to_string(done.bytes) + "/" + std::to_string(done.total.value_or(0));
            if (throws) throw std::runtime_error("enough");
        };
        try {
            text += co_await answer->save(path, progress) ? "." : "!";
        } catch (const std::runtime_error& error) {
            text += std::string(" ") + error.what();
        }
    };
    runner.spawn(with_progress(*client, server.url, path(), told, false));
    EXPECT_TRUE(world.wait_for_pool([&] { return told.ends_with('.'); })) << told;
    EXPECT_EQ(told, "5/5.");
    std::filesystem::remove(path());
    told.clear();
    runner.spawn(with_progress(*client, server.url, path(), told, true));
    EXPECT_TRUE(world.wait_for_pool([&] { return told.ends_with("enough"); })) << told;
    EXPECT_TRUE(world.wait_for_pool([&] { return files() == 0; }));
}

}  // namespace
}  // namespace tiderace::http

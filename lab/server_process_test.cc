#include "lab/server_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "tiderace/core/clock.h"
#include "tiderace/net/listener.h"
#include "tiderace/testing/environment_variable.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::lab {
namespace {

core::ChildOptions shell(std::string script) {
    return {.arguments = {"sh", "-c", std::move(script)}};
}

constexpr const char* for_ever = "while :; do sleep 0.01; done";

// Answers one connection with `answer`, in place of a child that would.
class Answering {
  public:
    explicit Answering(std::string answer)
        : listener_(*net::open_listener(core::system_kernel(), core::Address::loopback(0), {})),
          answer_(std::move(answer)),
          thread_([this] { serve(); }) {}
    ~Answering() {
        ::shutdown(listener_.get(), SHUT_RDWR);
        thread_.join();
    }
    core::Address address() { return net::local_address(core::system_kernel(), listener_); }

  private:
    void serve() {
        int peer = -1;
        while ((peer = ::accept(listener_.get(), nullptr, nullptr)) < 0 && errno == EAGAIN) {
            std::this_thread::yield();
        }
        if (peer < 0) return;
        char buffer[4096];
        static_cast<void>(::read(peer, buffer, sizeof buffer) < 0);
        static_cast<void>(::write(peer, answer_.data(), answer_.size()) < 0);
        ::close(peer);
    }

    core::Descriptor listener_;
    std::string answer_;
    std::thread thread_;
};

// Finds leftovers in the temporary folder.
class ServerProcessTest : public ::testing::Test {
  protected:
    void TearDown() override {
        EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "files were left behind";
    }
    static std::string refusal(ServerLaunch launch) {
        const auto server = ServerProcess::start(std::move(launch));
        EXPECT_FALSE(server);
        return server ? "" : server.error().message();
    }

    tiderace::testing::TemporaryFolder folder_;
    tiderace::testing::EnvironmentVariable temporary_{"TMPDIR", folder_.path()};
};

TEST_F(ServerProcessTest, RunsFromItsFirstAnswerToItsEnd) {
    Answering answering("HTTP/1.1 200 OK\r\n\r\n");
    auto server = ServerProcess::start(
        {.child = shell(std::string("sleep 60 & ") + for_ever), .address = answering.address()});
    ASSERT_TRUE(server) << server.error().message();
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "gone as soon as it has answered";
    // The shell starts its child when it comes to it.
    const Instant patience = core::SystemClock().now() + 100s;
    while (server->pids().size() < 2 && core::SystemClock().now() < patience) {
        std::this_thread::yield();
    }
    EXPECT_GE(server->pids().size(), 2U);
    EXPECT_EQ(server->exit(), std::nullopt);
    server->end();
    EXPECT_TRUE(server->exit());
}

TEST_F(ServerProcessTest, FindsItsFilesInTheGivenFolder) {
    const std::string said = refusal({.child = shell("cat {folder}/config; exit 3"),
                                      .files = {{"config", "here is {folder}/config\n"}},
                                      .address = *choose_address()});
    EXPECT_NE(said.find("ended with status 3; it said: here is " + folder_.path()),
              std::string::npos)
        << said;
}

TEST_F(ServerProcessTest, AnErrorStatusIsReported) {
    Answering answering("HTTP/1.1 404 Not Found\r\n\r\n");
    EXPECT_NE(refusal({.child = shell(for_ever), .address = answering.address(), .path = "/x"})
                  .find("answered /x with 404"),
              std::string::npos);
}

TEST_F(ServerProcessTest, ASilentServerTimesOut) {
    const std::string said =
        refusal({.child = shell(for_ever), .address = *choose_address(), .start_patience = 20ms});
    EXPECT_NE(said.find("did not answer within 20ms"), std::string::npos) << said;
}

TEST_F(ServerProcessTest, AnUnwantedServerIsNotWaitedFor) {
    // One port without a listener, and one with a silent listener.
    const auto listener =
        *net::open_listener(core::system_kernel(), core::Address::loopback(0), {});
    for (const core::Address& address :
         {*choose_address(), net::local_address(core::system_kernel(), listener)}) {
        int looks = 0;
        const std::string said = refusal({.child = shell(for_ever),
                                          .address = address,
                                          .start_patience = 1h,
                                          .wait = [&looks](Duration) { return ++looks > 1; }});
        EXPECT_NE(said.find("was not wanted any more"), std::string::npos) << said;
    }
}

TEST_F(ServerProcessTest, AProgramThatIsNotThereIsNamed) {
    EXPECT_NE(refusal({.child = {.arguments = {"tiderace-no-such"}}}).find("tiderace-no-such"),
              std::string::npos);
}

TEST(AskOnce, AnEchoAnswersWithWhatItIsSent) {
    Answering echo("HTTP/1.1 200 as is\r\n");
    EXPECT_EQ(ask_once(echo.address(), "", 60s), 200);
    Answering another("something else");
    EXPECT_EQ(ask_once(another.address(), "", 5s), std::nullopt);
}

TEST(AskOnce, KnowsNothingOfAServerWithoutHttp) {
    Answering answering("SSH-2.0-nothing of ours\r\n");
    EXPECT_EQ(ask_once(answering.address(), "/", 5s), std::nullopt);
    EXPECT_EQ(ask_once(*choose_address(), "/", 5s), std::nullopt);
}

}  // namespace
}  // namespace tiderace::lab

#include "server/live/admin_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "tiderace/core/address.h"
#include "tiderace/core/kernel.h"
#include "tiderace/net/listener.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers one client with a text, and keeps what it was sent.
class OneAnswer {
  public:
    OneAnswer(const std::string& path, std::string answer)
        : listener_(*net::open_listener(core::system_kernel(),
                                        *core::Address::parse("unix:" + path), {})),
          thread_([this, answer = std::move(answer)] {
              int client = -1;
              while ((client = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)) < 0) {
                  std::this_thread::yield();  // the listener does not block
              }
              const core::Descriptor socket(core::system_kernel(), client);
              std::array<char, 4096> part;
              const ssize_t got = ::recv(client, part.data(), part.size(), 0);
              request_.assign(part.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
              ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
          }) {}
    ~OneAnswer() { join(); }
    const std::string& request() {
        join();
        return request_;
    }

  private:
    void join() {
        if (thread_.joinable()) thread_.join();
    }

    core::Descriptor listener_;
    std::string request_;
    std::thread thread_;
};

class AdminClientTest : public ::testing::Test {
  protected:
    int ask(const std::vector<std::string_view>& words) {
        const auto command = parse_command_line(words);
        EXPECT_TRUE(command) << command.error().sentence;
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        const int status = ask_server(std::get<FileTool>(*command));
        out_ = ::testing::internal::GetCapturedStdout();
        complaint_ = ::testing::internal::GetCapturedStderr();
        return status;
    }

    testing::TemporaryFolder folder_;
    std::string path_ = folder_.path_of("a.sock");
    std::string out_;
    std::string complaint_;
};

TEST_F(AdminClientTest, EachCommandSendsItsRequestAndPrintsTheBody) {
    OneAnswer reload(path_, "HTTP/1.1 200 OK\r\n\r\nread\n");
    EXPECT_EQ(ask({"reload", "--socket", path_}), 0);
    EXPECT_EQ(out_, "read\n");
    EXPECT_THAT(reload.request(), StartsWith("POST /reload HTTP/1.1\r\nHost: "));
    folder_.write("a.toml", "[admin]\nsocket = \"b.sock\"\n[[site]]\nindx = 3\n");
    const std::string file = folder_.path_of("a.toml");
    const std::string other = folder_.path_of("b.sock");
    {
        OneAnswer lines(other, "HTTP/1.1 200 OK\r\n\r\n");
        EXPECT_EQ(ask({"status", file}), 0)
            << "a file with faults still says where: " << complaint_;
        EXPECT_THAT(lines.request(), StartsWith("GET /status.txt HTTP/1.1\r\n"));
    }
    OneAnswer json(other, "HTTP/1.1 200 OK\r\n\r\n{}");
    EXPECT_EQ(ask({"status", "--json", file}), 0);
    EXPECT_THAT(json.request(), StartsWith("GET /status HTTP/1.1\r\n"));
}

TEST_F(AdminClientTest, RefusedAndNobodyThereAreDifferentStatuses) {
    EXPECT_EQ(ask({"reload", "--socket", path_}), 2);
    EXPECT_THAT(complaint_, HasSubstr("no server has this admin socket"));
    {
        const OneAnswer refuses(path_, "HTTP/1.1 409 Conflict\r\n\r\nline 3\n");
        EXPECT_EQ(ask({"reload", "--socket", path_}), 1);
        EXPECT_EQ(complaint_, "line 3\n");
    }
    for (const char* const answer : {"HTTP/1.1 503 Busy\r\n\r\n", "HTTP/1.1 200 OK\r\n", "mail\r\n",
                                     "", "HTTP/1.1 x\r\n\r\n"}) {
        const OneAnswer other(path_, answer);
        EXPECT_EQ(ask({"status", "--socket", path_}), 2) << answer;
    }
    EXPECT_EQ(ask({"status", "--socket", std::string(200, 'a')}), 2);
}

TEST_F(AdminClientTest, AFileWithoutASocketIsSaid) {
    folder_.write("none.toml", "[[site]]\nroot = \".\"\n");
    EXPECT_EQ(ask({"reload", folder_.path_of("none.toml")}), 2);
    EXPECT_THAT(complaint_, HasSubstr("has no [admin] with a socket"));
    folder_.write("broken.toml", "[admin\n");
    EXPECT_EQ(ask({"reload", folder_.path_of("broken.toml")}), 1) << "the server would refuse it";
    EXPECT_THAT(complaint_, HasSubstr("this is no TOML"));
    EXPECT_EQ(ask({"reload", folder_.path_of("missing.toml")}), 2);
}

}  // namespace
}  // namespace tiderace::server

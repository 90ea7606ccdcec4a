#include "server/listening_sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tiderace/net/listener.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

class ListeningSocketsTest : public ::testing::Test {
  protected:
    ListeningSocketsTest() {
        options_.listen = {"127.0.0.1:0"};
        options_.listen_is_default = false;
    }

    // As the server does when it is ready: until then another one may bind there, too.
    static std::vector<ListeningSockets::Socket> listen(ListeningSockets& sockets) {
        auto all = sockets.take();
        for (const auto& socket : all) {
            EXPECT_TRUE(net::start_listening(core::system_kernel(), socket.listener, 16));
        }
        return all;
    }

    testing::TemporaryFolder folder_;
    ServeOptions options_;
};

TEST_F(ListeningSocketsTest, AreOpenInTheOrderOfTheOptions) {
    options_.listen = {"127.0.0.1:0", "unix:" + folder_.path_of("socket")};
    options_.tls.https_redirect = {"127.0.0.1:0"};
    auto opened = ListeningSockets::open(options_);
    ASSERT_TRUE(opened.has_value()) << opened.error().message();
    ASSERT_EQ(opened->addresses().size(), 2U);
    EXPECT_NE(opened->addresses()[0].port(), 0);
    EXPECT_TRUE(opened->addresses()[1].is_unix());
    EXPECT_EQ(opened->redirecting().size(), 1U);
    EXPECT_FALSE(opened->port_fallback().has_value());
    const auto sockets = opened->take();
    ASSERT_EQ(sockets.size(), 3U);
    EXPECT_EQ(sockets[0].bound.port(), opened->addresses()[0].port());
    EXPECT_EQ(sockets[2].purpose, ListeningSockets::Purpose::redirect);
    for (const auto& socket : sockets) EXPECT_TRUE(socket.listener);
    EXPECT_TRUE(opened->take().empty());

    EXPECT_EQ(::access(folder_.path_of("socket").c_str(), F_OK), 0);
    opened->remove_files();
    EXPECT_NE(::access(folder_.path_of("socket").c_str(), F_OK), 0);
}

TEST_F(ListeningSocketsTest, TheFileOfTheServerThatTookOverStays) {
    const std::string path = folder_.path_of("socket");
    options_.listen = {"unix:" + path};
    auto first = ListeningSockets::open(options_);
    ASSERT_TRUE(first.has_value()) << first.error().message();
    ASSERT_EQ(::unlink(path.c_str()), 0);
    auto second = ListeningSockets::open(options_);
    ASSERT_TRUE(second.has_value()) << second.error().message();
    first->remove_files();
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
    second->remove_files();
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

// Once its sockets are closed, the number of one may be another server's.
TEST_F(ListeningSocketsTest, NamesAreRemovedOnce) {
    const std::string path = folder_.path_of("socket");
    options_.listen = {"unix:" + path};
    auto opened = ListeningSockets::open(options_);
    ASSERT_TRUE(opened.has_value()) << opened.error().message();
    ASSERT_EQ(::link(path.c_str(), folder_.path_of("same").c_str()), 0);
    opened->remove_files();
    ASSERT_EQ(::rename(folder_.path_of("same").c_str(), path.c_str()), 0);
    opened->remove_files();
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
}

TEST_F(ListeningSocketsTest, AcceptNothingBeforeTheServerIsReady) {
    auto opened = ListeningSockets::open(options_);
    ASSERT_TRUE(opened.has_value()) << opened.error().message();
    sockaddr_storage storage;
    const socklen_t bytes = opened->addresses()[0].to_sockaddr(storage);
    const auto* const there = reinterpret_cast<const sockaddr*>(&storage);
    const int early = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(early, there, bytes), -1);
    EXPECT_EQ(errno, ECONNREFUSED);
    ::close(early);
    const auto listening = listen(*opened);
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(client, there, bytes), 0);
    ::close(client);
}

TEST_F(ListeningSocketsTest, ATakenPortIsAnErrorThatNamesIt) {
    auto first = ListeningSockets::open(options_);
    ASSERT_TRUE(first.has_value());
    const auto listening = listen(*first);
    ServeOptions again = options_;
    again.listen = {first->addresses()[0].to_string()};
    const auto second = ListeningSockets::open(again);
    ASSERT_FALSE(second.has_value());
    EXPECT_THAT(second.error().message(), ::testing::HasSubstr(again.listen[0]));
}

// The message blames our own second flag, not another program.
TEST_F(ListeningSocketsTest, ADuplicateAddressIsNotBlamedOnOtherPrograms) {
    struct Case {
        std::string first, second;
    };
    const Case cases[] = {
        {":PORT", "127.0.0.1:PORT"}, {":PORT", ":PORT"},
        {"[::]:PORT", ":PORT"},      {"127.0.0.1:PORT", ":PORT"},
        {"0.0.0.0:PORT", ":PORT"},   {"0.0.0.0:PORT", "localhost:PORT"},
        {"unix:PATH", "unix:PATH"},  {"unix:FOLDER/./PATH", "unix:FOLDER//PATH"},
    };
    const auto with = [&](std::string text, std::uint16_t port) {
        if (const auto at = text.find("PORT"); at != text.npos) {
            text.replace(at, 4, std::to_string(port));
        }
        if (const auto at = text.find("FOLDER"); at != text.npos) {
            text.replace(at, 6, folder_.path());
            text.replace(text.find("PATH"), 4, "socket");
        }
        if (const auto at = text.find("PATH"); at != text.npos) {
            text.replace(at, 4, folder_.path_of("socket"));
        }
        return text;
    };
    for (const Case& each : cases) {
        std::uint16_t port = 0;
        {
            options_.listen = {":0"};
            const auto free = ListeningSockets::open(options_);
            ASSERT_TRUE(free.has_value());
            port = free->addresses()[0].port();
        }
        const std::string first = with(each.first, port), second = with(each.second, port);
        for (const bool redirects : {false, true}) {
            options_.listen = {first};
            options_.tls.https_redirect.clear();
            (redirects ? options_.tls.https_redirect : options_.listen).push_back(second);
            const auto opened = ListeningSockets::open(options_);
            ASSERT_FALSE(opened.has_value()) << first << ' ' << second;
            EXPECT_EQ(opened.error().message(),
                      "listen on " + second + ": address already in use; --listen " + first +
                          " listens there already; leave one of the two out");
        }
    }
}

TEST_F(ListeningSocketsTest, ATakenPortThatWasOnlyADefaultGivesWayToTheNext) {
    auto first = ListeningSockets::open(options_);
    ASSERT_TRUE(first.has_value());
    const auto listening = listen(*first);
    const core::Address taken = first->addresses()[0];
    ServeOptions again = options_;
    again.listen = {taken.to_string()};
    again.listen_is_default = true;
    const auto second = ListeningSockets::open(again);
    ASSERT_TRUE(second.has_value());
    const auto& fallback = second->port_fallback();
    ASSERT_TRUE(fallback.has_value());
    EXPECT_EQ(fallback->wanted, taken.port());
    EXPECT_GT(fallback->used, taken.port());
    EXPECT_EQ(second->addresses()[0].port(), fallback->used);
}

TEST_F(ListeningSocketsTest, ClosedOnesLeaveTheirPort) {
    auto first = ListeningSockets::open(options_);
    ASSERT_TRUE(first.has_value());
    first->close();
    ServeOptions again = options_;
    again.listen = {first->addresses()[0].to_string()};
    EXPECT_TRUE(ListeningSockets::open(again).has_value());
}

TEST_F(ListeningSocketsTest, ThoseBeforeAnAddressThatCannotBeHadLeaveNoNameBehind) {
    const std::string path = folder_.path_of("socket");
    options_.listen = {"unix:" + path, "unix:" + folder_.path_of("no/such/folder/socket")};
    ASSERT_FALSE(ListeningSockets::open(options_).has_value());
    struct stat status{};
    EXPECT_NE(::lstat(path.c_str(), &status), 0);
}

TEST_F(ListeningSocketsTest, AnAddressThatCannotBeHadIsAnError) {
    options_.listen = {"unix:" + folder_.path_of("no/such/folder/socket")};
    const auto opened = ListeningSockets::open(options_);
    ASSERT_FALSE(opened.has_value());
    EXPECT_THAT(opened.error().message(), ::testing::HasSubstr("no/such/folder"));
}

}  // namespace
}  // namespace tiderace::server

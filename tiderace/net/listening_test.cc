#include "tiderace/net/listening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "tiderace/net/listener.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::net {
namespace {

// Answers each byte with its letter.
class Letters final : public SessionFactory, private Session {
  public:
    explicit Letters(char letter) : letter_(letter) {}

  private:
    Session& make_session(Connection&) override { return *this; }
    std::size_t on_data(Connection& connection, ByteView data) override {
        connection.write(std::string(data.size(), letter_));
        return data.size();
    }
    void on_close(Connection&, CloseReason) override {}

    char letter_;
};

int open_client(const core::Address& to, int& status) {
    sockaddr_storage storage;
    const socklen_t bytes = to.to_sockaddr(storage);
    const int fd = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    status = ::connect(fd, reinterpret_cast<const sockaddr*>(&storage), bytes);
    return fd;
}

bool takes_connections(const core::Address& at) {
    int status = -1;
    ::close(open_client(at, status));
    return status == 0;
}

class ListeningTest : public ::testing::Test {
  protected:
    ~ListeningTest() override { end(); }

    // A Listening of the test's own, which listens from spread() on.
    Result<Listening*> bound() {
        listening_ = std::make_unique<Listening>(options_);
        if (auto bound = listening_->bind(); !bound) return fail(bound.error());
        return listening_.get();
    }
    // Each address has its letter, a, b, c, ….
    Result<> spread(std::size_t loops, const Listening::Spread& how = {}) {
        loops_ = std::move(*LoopGroup::create(loops, {}));
        std::vector<Listening::Targets> of_place;
        for (std::size_t place = 0; place < options_.addresses.size(); ++place) {
            letters_.push_back(std::make_unique<Letters>(static_cast<char>('a' + place)));
            Listening::Targets& targets = of_place.emplace_back();
            for (std::size_t i = 0; i < loops; ++i) {
                servers_.push_back(std::make_unique<TcpServer>(loops_->loop(i), *letters_.back(),
                                                               TcpServerOptions{}));
                targets.push_back({&loops_->loop(i), servers_.back().get()});
            }
        }
        return listening_->spread(*loops_, std::move(of_place), how);
    }
    Result<> open(std::size_t loops, const Listening::Spread& how = {}) {
        if (auto made = bound(); !made) return fail(made.error());
        if (auto done = spread(loops, how); !done) return done;
        return listening_->start();
    }
    void end() {
        listening_.reset();
        servers_.clear();
        letters_.clear();
        loops_.reset();
    }
    // Asks with a byte, and turns the loops until there is an answer; '\0': there is none.
    char ask(const core::Address& to) {
        int status = -1;
        const int fd = open_client(to, status);
        EXPECT_EQ(status, 0) << to.to_string();
        char byte = '?';
        EXPECT_EQ(::send(fd, &byte, 1, MSG_NOSIGNAL), 1);
        ssize_t got = -1;
        const core::SystemClock clock;
        for (const Instant end = clock.now() + 100s; got < 0 && clock.now() < end;) {
            for (std::size_t i = 0; i < loops_->size(); ++i) loops_->loop(i).turn(1ms);
            got = ::recv(fd, &byte, 1, MSG_DONTWAIT);
        }
        ::close(fd);
        return got == 1 ? byte : '\0';
    }
    bool has_file(const std::string& path) const { return ::access(path.c_str(), F_OK) == 0; }

    testing::TemporaryFolder folder_;
    ListeningOptions options_{.addresses = {"127.0.0.1:0"}};
    std::unique_ptr<LoopGroup> loops_;
    std::vector<std::unique_ptr<Letters>> letters_;
    std::vector<std::unique_ptr<TcpServer>> servers_;  // by place, and then by loop
    std::unique_ptr<Listening> listening_;
};

TEST_F(ListeningTest, EveryModeServesWithOneLoopAndWithTwo) {
    const std::string path = folder_.path_of("socket");
    options_.addresses = {"127.0.0.1:0", "unix:" + path, "127.0.0.1:0"};
    for (const AcceptMode mode : {AcceptMode::reuseport, AcceptMode::shared, AcceptMode::queue}) {
        for (const std::size_t loops : {1U, 2U}) {
            SCOPED_TRACE(static_cast<int>(mode) * 10 + static_cast<int>(loops));
            ASSERT_TRUE(open(loops, {.mode = mode}).has_value());
            ASSERT_EQ(listening_->addresses().size(), 3U);
            EXPECT_NE(listening_->addresses()[0].port(), 0);
            EXPECT_FALSE(listening_->port_fallback().has_value());
            std::string answers;
            for (int i = 0; i < 8; ++i) {
                for (const core::Address& at : listening_->addresses()) answers += ask(at);
            }
            EXPECT_EQ(answers, "abcabcabcabcabcabcabcabc");
            if (mode == AcceptMode::queue && loops == 2) {
                // Dealt out in turn.
                EXPECT_EQ(servers_[0]->counters().opened, servers_[1]->counters().opened);
            }
            EXPECT_EQ(listening_->refused(), 0U);
            listening_->stop();
            EXPECT_FALSE(has_file(path));
            end();
        }
    }
}

// Places with one server: were there an intake for each, both would begin with the same loop.
TEST_F(ListeningTest, TheConnectionsOfAllPlacesOfAServerAreDealtOutInTurn) {
    options_.addresses = {"127.0.0.1:0", "127.0.0.1:0"};
    ASSERT_TRUE(bound());
    loops_ = std::move(*LoopGroup::create(2, {}));
    letters_.push_back(std::make_unique<Letters>('a'));
    Listening::Targets targets;
    for (std::size_t i = 0; i < 2; ++i) {
        servers_.push_back(
            std::make_unique<TcpServer>(loops_->loop(i), *letters_[0], TcpServerOptions{}));
        targets.push_back({&loops_->loop(i), servers_[i].get()});
    }
    ASSERT_TRUE(listening_->spread(*loops_, {targets, targets}, {.mode = AcceptMode::queue}));
    ASSERT_TRUE(listening_->start());
    for (const core::Address& at : listening_->addresses()) EXPECT_EQ(ask(at), 'a');
    EXPECT_EQ(servers_[0]->counters().opened, 1U);
    EXPECT_EQ(servers_[1]->counters().opened, 1U);
}

TEST_F(ListeningTest, NoTwoServersShareAPort) {
    ASSERT_TRUE(open(2).has_value());  // SO_REUSEPORT among its own loops
    Listening second({.addresses = {listening_->addresses()[0].to_string()}});
    EXPECT_FALSE(second.bind().has_value());
}

TEST_F(ListeningTest, ALoopToListenOnThatCannotBeHadIsAnError) {
    const auto opened = open(1, {.mode = AcceptMode::queue, .engine = "iocp"});
    ASSERT_FALSE(opened.has_value());
    EXPECT_THAT(opened.error().message(), ::testing::HasSubstr("iocp"));
}

// The end is a post to the loop that listens, and a post takes memory.
TEST_F(ListeningTest, StopsThoughThereIsNoMemory) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    ASSERT_TRUE(open(1, {.mode = AcceptMode::queue}).has_value());
    const std::string at = listening_->addresses()[0].to_string();
    {
        const testing::ScarceMemory scarce(1);
        listening_->stop();  // waits for the thread
        EXPECT_TRUE(scarce.failed());
    }
    // Nothing listens any more: the port can be had again.
    end();
    EXPECT_TRUE(Listening({.addresses = {at}}).bind());
}

// std::thread reports it by another exception than a limit of threads.
TEST_F(ListeningTest, AThreadThatThereIsNoMemoryForIsAnError) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    std::string message;
    for (std::uint64_t nth = 1; message.empty() && nth < 100; ++nth) {
        end();
        ASSERT_TRUE(bound());
        ASSERT_TRUE(spread(1, {.mode = AcceptMode::queue}));
        const testing::ScarceMemory scarce(nth);
        try {
            const auto started = listening_->start();
            ASSERT_TRUE(!started || !scarce.failed());
            if (started) break;
            message = started.error().message();
        } catch (const std::bad_alloc&) {  // before the thread: the program catches it
        }
    }
    EXPECT_THAT(message, ::testing::HasSubstr("start the thread that listens: "));
}

TEST_F(ListeningTest, StoppingTwiceIsHarmless) {
    ASSERT_TRUE(open(1, {.mode = AcceptMode::queue}).has_value());
    listening_->stop();
    listening_->stop();
}

TEST_F(ListeningTest, TheFileOfTheServerThatTookOverStays) {
    const std::string path = folder_.path_of("socket");
    options_.addresses = {"unix:" + path};
    ASSERT_TRUE(bound());
    ASSERT_EQ(::unlink(path.c_str()), 0);
    Listening second(options_);
    ASSERT_TRUE(second.bind());
    listening_->remove_names();
    EXPECT_TRUE(has_file(path));
    second.remove_names();
    EXPECT_FALSE(has_file(path));
}

// Once its sockets are closed, the number of one may be another server's.
TEST_F(ListeningTest, NamesAreRemovedOnce) {
    const std::string path = folder_.path_of("socket");
    options_.addresses = {"unix:" + path};
    ASSERT_TRUE(bound());
    ASSERT_EQ(::link(path.c_str(), folder_.path_of("same").c_str()), 0);
    listening_->remove_names();
    ASSERT_EQ(::rename(folder_.path_of("same").c_str(), path.c_str()), 0);
    listening_->end();
    EXPECT_TRUE(has_file(path));
}

TEST_F(ListeningTest, ANameThatWeMayNotRemoveIsLeftToWhoMay) {
    const std::string path = folder_.path_of("socket");
    std::string asked;
    options_.addresses = {"unix:" + path};
    options_.remove_name = [&](const std::string& name, dev_t, ino_t inode) {
        asked = name + " " + std::to_string(inode);
    };
    ASSERT_TRUE(bound());
    struct stat made{};
    ASSERT_EQ(::lstat(path.c_str(), &made), 0);
    // As in a folder that cannot be entered: it may be there though it is not seen.
    ASSERT_EQ(::rename(path.c_str(), folder_.path_of("unseen").c_str()), 0);
    listening_->remove_names();
    EXPECT_EQ(asked, path + " " + std::to_string(made.st_ino));
}

TEST_F(ListeningTest, OneOfSeveralProcessesLeavesTheNames) {
    const std::string path = folder_.path_of("socket");
    options_.addresses = {"unix:" + path};
    ASSERT_TRUE(bound());
    listening_->forget_names();
    end();
    EXPECT_TRUE(has_file(path));
}

TEST_F(ListeningTest, NothingIsAcceptedBeforeTheServerIsReady) {
    ASSERT_TRUE(bound());
    EXPECT_FALSE(takes_connections(listening_->addresses()[0]));
    ASSERT_TRUE(spread(1));
    EXPECT_TRUE(takes_connections(listening_->addresses()[0]));
}

TEST_F(ListeningTest, ATakenPortIsAnErrorThatNamesIt) {
    ASSERT_TRUE(open(1));
    const std::string at = listening_->addresses()[0].to_string();
    const auto second = Listening({.addresses = {at}}).bind();
    ASSERT_FALSE(second.has_value());
    EXPECT_THAT(second.error().message(), ::testing::HasSubstr(at));
}

// The message blames our own second flag, not another program.
TEST_F(ListeningTest, ADuplicateAddressIsNotBlamedOnOtherPrograms) {
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
        options_ = {.addresses = {":0"}};
        ASSERT_TRUE(bound());
        const std::uint16_t port = listening_->addresses()[0].port();
        end();
        const std::string first = with(each.first, port), second = with(each.second, port);
        for (const std::string flag : {"", "--listen"}) {
            options_ = {.addresses = {first, second}};
            if (!flag.empty()) options_.named_by = {flag, "--https-redirect"};
            const auto opened = bound();
            ASSERT_FALSE(opened.has_value()) << first << ' ' << second;
            EXPECT_EQ(opened.error().message(),
                      "listen on " + second + ": address already in use; " +
                          (flag.empty() ? first : flag + " " + first) +
                          " listens there already; leave one of the two out");
        }
    }
}

TEST_F(ListeningTest, ATakenPortThatWasOnlyADefaultGivesWayToTheNext) {
    ASSERT_TRUE(open(1));
    const core::Address taken = listening_->addresses()[0];
    Listening second({.addresses = {taken.to_string()}, .ports_tried_max = 20});
    ASSERT_TRUE(second.bind());
    const auto& fallback = second.port_fallback();
    ASSERT_TRUE(fallback.has_value());
    EXPECT_EQ(fallback->wanted, taken.port());
    EXPECT_GT(fallback->used, taken.port());
    EXPECT_EQ(second.addresses()[0].port(), fallback->used);
}

TEST_F(ListeningTest, ClosedOnesLeaveTheirPort) {
    ASSERT_TRUE(bound());
    listening_->end();
    EXPECT_TRUE(Listening({.addresses = {listening_->addresses()[0].to_string()}}).bind());
}

TEST_F(ListeningTest, ThoseBeforeAnAddressThatCannotBeHadLeaveNoNameBehind) {
    const std::string path = folder_.path_of("socket");
    options_.addresses = {"unix:" + path, "unix:" + folder_.path_of("no/such/folder/socket")};
    const auto opened = bound();
    ASSERT_FALSE(opened.has_value());
    EXPECT_THAT(opened.error().message(), ::testing::HasSubstr("no/such/folder"));
    EXPECT_FALSE(has_file(path));
}

}  // namespace
}  // namespace tiderace::net

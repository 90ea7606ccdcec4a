#include "tiderace/net/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tiderace/core/backend/forwarding_kernel.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::net {
namespace {

using core::Address;
using testing::Call;

class ListenerTest : public ::testing::Test {
  protected:
    Result<core::Descriptor> open(const Address& address, const ListenOptions& options = {}) {
        return open_listener(kernel_, address, options);
    }
    static std::string message(const Result<core::Descriptor>& refused) {
        return refused.has_value() ? "it opened" : refused.error().message();
    }
    // Whether a connection to it is accepted.
    bool answers(const Address& address) {
        sockaddr_storage storage;
        const socklen_t bytes = address.to_sockaddr(storage);
        const int fd = ::socket(storage.ss_family, SOCK_STREAM, 0);
        const bool connected =
            ::connect(fd, reinterpret_cast<const sockaddr*>(&storage), bytes) == 0;
        ::close(fd);
        return connected;
    }
    int option(const core::Descriptor& listener, int level, int name) {
        int value = -1;
        socklen_t bytes = sizeof value;
        kernel_.get_option(listener.get(), level, name, &value, &bytes);
        return value;
    }

    testing::FailNth kernel_{core::system_kernel()};
    testing::TemporaryFolder folder_;
};

TEST_F(ListenerTest, OpensAtAPortOfTheKernelsChoiceAndSaysWhich) {
    const auto listener = open(Address::loopback(0));
    ASSERT_TRUE(listener) << message(listener);
    const Address at = local_address(kernel_, *listener);
    EXPECT_TRUE(at.is_loopback());
    EXPECT_GT(at.port(), 0);
    EXPECT_TRUE(answers(at));
    EXPECT_NE(option(*listener, IPPROTO_TCP, TCP_NODELAY), 0);
    EXPECT_NE(option(*listener, SOL_SOCKET, SO_REUSEADDR), 0);
    EXPECT_EQ(option(*listener, SOL_SOCKET, SO_REUSEPORT), 0);
}

TEST_F(ListenerTest, AMappedAddressIsTheIpv4AddressInIt) {
    for (const char* text : {"[::ffff:127.0.0.1]:0", "[::ffff:0.0.0.0]:0"}) {
        const auto listener = open(*Address::parse(text));
        ASSERT_TRUE(listener) << message(listener);
        const Address at = local_address(kernel_, *listener);
        EXPECT_EQ(at.family(), Address::Family::ip4) << text;
        EXPECT_TRUE(answers(Address::loopback(at.port()))) << text;
    }
}

TEST_F(ListenerTest, APortInUseIsRefusedWithAdvice) {
    const auto first = open(Address::loopback(0));
    const Address at = local_address(kernel_, *first);
    const auto second = open(at);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), EADDRINUSE);
    EXPECT_EQ(second.error().message(),
              "bind " + at.to_string() +
                  ": address already in use; another program listens there; stop it or choose "
                  "another address");
}

TEST_F(ListenerTest, ABoundSocketAcceptsNothingUntilItListens) {
    const auto bound = bind_listener(kernel_, Address::loopback(0), {});
    ASSERT_TRUE(bound) << message(bound);
    const Address at = local_address(kernel_, *bound);
    EXPECT_FALSE(answers(at));
    ASSERT_TRUE(start_listening(kernel_, *bound, 16));
    EXPECT_TRUE(answers(at));
}

// Both have bound the port before either listens, as two servers that start at once.
TEST_F(ListenerTest, OfTwoThatStartAtOnceOneGetsThePortAndTheOtherTheError) {
    if (!shared_ports_are_spread()) GTEST_SKIP() << "one socket has all connections here";
    for (const std::size_t count : {1U, 4U}) {
        auto first = bind_listener(kernel_, Address::loopback(0), {});
        ASSERT_TRUE(first) << message(first);
        const Address at = local_address(kernel_, *first);
        auto second = bind_listener(kernel_, at, {});
        ASSERT_TRUE(second) << message(second);
        const auto mine = share_listener(kernel_, std::move(*first), count, 16);
        ASSERT_TRUE(mine) << mine.error().message();
        const auto theirs = share_listener(kernel_, std::move(*second), count, 16);
        ASSERT_FALSE(theirs);
        EXPECT_EQ(theirs.error().message(),
                  "listen on " + at.to_string() +
                      ": address already in use; another program listens there; stop it or choose "
                      "another address");
        const auto third = bind_listener(kernel_, at, {});
        EXPECT_FALSE(third) << "also one that comes later";
    }
}

// A port that is shared would be divided with another server unnoticed.
TEST_F(ListenerTest, ThePortOfOneLoopIsNotShared) {
    auto bound = bind_listener(kernel_, Address::loopback(0), {});
    ASSERT_TRUE(bound) << message(bound);
    const Address at = local_address(kernel_, *bound);
    const auto all = share_listener(kernel_, std::move(*bound), 1, 16);
    ASSERT_TRUE(all) << all.error().message();
    EXPECT_EQ(all->size(), 1U);
    EXPECT_FALSE(open(at, {.reuse_port = true}));
}

TEST_F(ListenerTest, APortInUseIsAskedForAgainUntilTheTimeIsUp) {
    kernel_.fail_all(Call::bind, EADDRINUSE);
    std::uint64_t before = kernel_.calls(Call::bind);
    EXPECT_FALSE(bind_listener(kernel_, Address::loopback(0), {}));
    EXPECT_EQ(kernel_.calls(Call::bind) - before, 1U) << "no time was given";
    before = kernel_.calls(Call::bind);
    EXPECT_FALSE(bind_listener(kernel_, Address::loopback(0), {.in_use_retry = 20ms}));
    EXPECT_EQ(kernel_.calls(Call::bind) - before, 3U) << "every 10 ms";
    kernel_.fail_all(Call::bind, EACCES);
    before = kernel_.calls(Call::bind);
    EXPECT_FALSE(bind_listener(kernel_, Address::loopback(0), {.in_use_retry = 20ms}));
    EXPECT_EQ(kernel_.calls(Call::bind) - before, 1U) << "it will not change";
}

TEST_F(ListenerTest, ConnectionsAreSpreadOverAllThatShare) {
    if (!shared_ports_are_spread()) GTEST_SKIP() << "one socket has all connections here";
    auto bound = bind_listener(kernel_, Address::loopback(0), {});
    ASSERT_TRUE(bound) << message(bound);
    const Address at = local_address(kernel_, *bound);
    const auto all = share_listener(kernel_, std::move(*bound), 4, 256);
    ASSERT_TRUE(all) << all.error().message();
    ASSERT_EQ(all->size(), 4U);
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(answers(at));
    int accepted = 0;
    for (const core::Descriptor& listener : *all) {
        int here = 0;
        for (int fd = 0; (fd = kernel_.accept(listener.get(), nullptr, nullptr)) >= 0; ++here) {
            kernel_.close(fd);
        }
        EXPECT_GT(here, 0);
        accepted += here;
    }
    EXPECT_EQ(accepted, 200);
}

TEST_F(ListenerTest, AsksAgainForAPortThatIsJustBeingLeft) {
    auto first = open(Address::loopback(0));
    ASSERT_TRUE(first) << message(first);
    const Address at = local_address(kernel_, *first);
    testing::FailNth other(core::system_kernel());
    other.fail(1, EADDRINUSE, Call::bind);
    first->reset();
    const auto patient = bind_listener(other, at, {.in_use_retry = 1s});
    EXPECT_TRUE(patient) << message(patient);
    EXPECT_EQ(other.calls(Call::bind), 2U);
    testing::FailNth taken(core::system_kernel());
    taken.fail_all(Call::bind, EADDRINUSE);
    const auto refused = bind_listener(taken, Address::loopback(0), {.in_use_retry = 50ms});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), EADDRINUSE);
    EXPECT_EQ(taken.calls(Call::bind), 6U);
}

TEST_F(ListenerTest, SeveralMayShareAPortWhenAskedTo) {
    const auto first = open(Address::loopback(0), {.reuse_port = true});
    const auto second = open(local_address(kernel_, *first), {.reuse_port = true});
    EXPECT_TRUE(second) << message(second);
}

TEST_F(ListenerTest, AnAddressOfAnotherMachineIsRefused) {
    const auto refused = open(*Address::parse("203.0.113.7:0"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), EADDRNOTAVAIL);
}

TEST_F(ListenerTest, EveryCallsFailureIsAnErrorThatNamesIt) {
    struct Case {
        Call call;
        int error;
        std::string_view says;
    };
    for (const Case& c : {Case{Call::open_socket, EMFILE, "open a socket for 127.0.0.1:0: "},
                          Case{Call::bind, EACCES, "ports below 1024 need root"},
                          Case{Call::listen, EADDRINUSE, "listen on 127.0.0.1:0: "}}) {
        const std::uint64_t closed = kernel_.calls(Call::close);
        kernel_.fail(1, c.error, c.call);
        const auto refused = open(Address::loopback(0));
        ASSERT_FALSE(refused) << testing::to_string(c.call);
        EXPECT_EQ(refused.error().code(), c.error);
        EXPECT_NE(refused.error().message().find(c.says), std::string::npos) << message(refused);
        const std::uint64_t opened = c.call == Call::open_socket ? 0 : 1;
        EXPECT_EQ(kernel_.calls(Call::close) - closed, opened) << testing::to_string(c.call);
    }
}

// ---- IPv6 --------------------------------------------------------------------------------------

TEST_F(ListenerTest, AnyAddressTakesBothFamilies) {
    const auto listener = open(Address::any(0));
    ASSERT_TRUE(listener) << message(listener);
    const std::uint16_t port = local_address(kernel_, *listener).port();
    EXPECT_TRUE(answers(Address::loopback(port)));
}

TEST_F(ListenerTest, AnyAddressIsIp4sWhereIp6IsNotThere) {
    struct Case {
        Call call;
        int error;
    };
    for (const Case& c : {Case{Call::open_socket, EAFNOSUPPORT}, Case{Call::bind, EADDRNOTAVAIL}}) {
        kernel_.fail(1, c.error, c.call);
        const auto listener = open(Address::any(0));
        ASSERT_TRUE(listener) << message(listener);
        const Address at = local_address(kernel_, *listener);
        EXPECT_EQ(at.family(), Address::Family::ip4);
        EXPECT_TRUE(at.is_any());
        EXPECT_TRUE(answers(Address::loopback(at.port())));
    }
}

TEST_F(ListenerTest, ANamedIp6AddressIsNotReplacedByAnother) {
    kernel_.fail(1, EAFNOSUPPORT, Call::open_socket);
    const auto refused = open(*Address::parse("[::1]:0"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), EAFNOSUPPORT);
}

// ---- Unix sockets ------------------------------------------------------------------------------

class UnixListenerTest : public ListenerTest {
  protected:
    std::string path_ = folder_.path_of("server.sock");
    Address at_ = *Address::parse("unix:" + path_);
};

TEST_F(UnixListenerTest, OpensAndAnswers) {
    const auto listener = open(at_);
    ASSERT_TRUE(listener) << message(listener);
    EXPECT_TRUE(answers(at_));
    EXPECT_EQ(local_address(kernel_, *listener), at_);
}

// Looks whether the folder is locked when the name is taken.
class LockSeen final : public core::ForwardingKernel {
  public:
    explicit LockSeen(std::string folder)
        : ForwardingKernel(core::system_kernel()), folder_(std::move(folder)) {}
    int bind(int fd, const sockaddr* address, socklen_t bytes) override {
        const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        locked = ::flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        ::close(folder);
        return ForwardingKernel::bind(fd, address, bytes);
    }

    bool locked = false;

  private:
    std::string folder_;
};

TEST_F(UnixListenerTest, TakesItsNameInALockedFolder) {
    LockSeen kernel(folder_.path_of("."));
    const auto listener = open_listener(kernel, at_, {});
    ASSERT_TRUE(listener) << message(listener);
    EXPECT_TRUE(kernel.locked);
    // A name without a folder is in the current one.
    const int before = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(::chdir(folder_.path_of(".").c_str()), 0);
    LockSeen here(".");
    const auto relative = open_listener(here, *Address::parse("unix:relative.sock"), {});
    EXPECT_EQ(::fchdir(before), 0);
    ::close(before);
    EXPECT_TRUE(relative) << message(relative);
    EXPECT_TRUE(here.locked);
}

// Any user who may read the folder can hold its lock.
class LockedFolder {
  public:
    explicit LockedFolder(const std::string& path)
        : folder_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        EXPECT_EQ(::flock(folder_, LOCK_EX), 0);
    }
    ~LockedFolder() { ::close(folder_); }
    LockedFolder(const LockedFolder&) = delete;
    LockedFolder& operator=(const LockedFolder&) = delete;

  private:
    int folder_;
};

TEST_F(UnixListenerTest, AFolderThatStaysLockedIsAnErrorThatNamesIt) {
    const LockedFolder others(folder_.path_of("."));
    const auto refused = open(at_, {.folder_lock_wait = 20ms});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(),
              "bind unix:" + path_ +
                  ": device or resource busy; another program keeps the lock of the folder " +
                  folder_.path_of("") +
                  "; end it (lslocks lists it), or choose a folder that other users cannot open");
    EXPECT_NE(::access(path_.c_str(), F_OK), 0) << "it took the name all the same";
}

TEST_F(UnixListenerTest, AFolderThatIsLockedForAMomentIsWaitedFor) {
    auto others = std::make_unique<LockedFolder>(folder_.path_of("."));
    std::thread ends([&] { others.reset(); });
    const auto listener = open(at_, {.folder_lock_wait = 10min});
    ends.join();
    EXPECT_TRUE(listener) << message(listener);
}

TEST_F(UnixListenerTest, ASocketFileWithoutAListenerIsReplaced) {
    {
        const auto gone = open(at_);
    }
    EXPECT_FALSE(answers(at_));
    EXPECT_EQ(::access(path_.c_str(), F_OK), 0);
    const auto listener = open(at_);
    ASSERT_TRUE(listener) << message(listener);
    EXPECT_TRUE(answers(at_));
}

TEST_F(UnixListenerTest, ASocketInUseIsNotTakenAway) {
    const auto first = open(at_);
    const auto second = open(at_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), EADDRINUSE);
    EXPECT_TRUE(answers(at_));
}

// The kernel accepts no connection, and yet the name is taken.
TEST_F(UnixListenerTest, OneThatIsBoundDoesNotListenYetAndIsNotTakenAway) {
    const auto first = bind_listener(kernel_, at_, {});
    ASSERT_TRUE(first) << message(first);
    EXPECT_FALSE(answers(at_));
    const auto second = bind_listener(kernel_, at_, {});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), EADDRINUSE);
    ASSERT_TRUE(start_listening(kernel_, *first, 16));
    EXPECT_TRUE(answers(at_));
}

TEST_F(UnixListenerTest, ASocketOfAnotherKindThatIsInUseIsNotTakenAway) {
    const core::Descriptor other(kernel_, kernel_.open_socket(AF_UNIX, SOCK_DGRAM, 0));
    sockaddr_storage storage;
    const socklen_t bytes = at_.to_sockaddr(storage);
    ASSERT_EQ(kernel_.bind(other.get(), reinterpret_cast<const sockaddr*>(&storage), bytes), 0);
    const auto refused = open(at_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), EADDRINUSE);
    EXPECT_EQ(::access(path_.c_str(), F_OK), 0);
}

// connect() also fails with ECONNREFUSED for a regular file.
TEST_F(UnixListenerTest, AFileThatIsNoSocketIsNeverDeleted) {
    folder_.write("server.sock", "somebody's notes");
    const auto refused = open(at_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(),
              "bind unix:" + path_ +
                  ": file exists; a file that is no socket is there; remove it, "
                  "or choose another name");
    struct stat status;
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_size, 16);
}

TEST_F(UnixListenerTest, AFolderOfThatNameIsReportedAsOne) {
    folder_.make_folder("server.sock");
    const auto refused = open(at_);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("a folder of that name"), std::string::npos);
}

TEST_F(UnixListenerTest, AFolderThatIsNotThereIsNamed) {
    const auto refused = open(*Address::parse("unix:" + folder_.path_of("absent/server.sock")));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ENOENT);
    EXPECT_NE(refused.error().message().find("directory"), std::string::npos);
}

}  // namespace
}  // namespace tiderace::net

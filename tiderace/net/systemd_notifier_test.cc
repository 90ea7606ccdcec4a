#include "tiderace/net/systemd_notifier.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <latch>
#include <optional>
#include <string>
#include <thread>

#include "tiderace/testing/temporary_folder.h"

#if defined(__linux__)
namespace tiderace::net {
namespace {

// systemd's end.
class SystemdNotifierTest : public ::testing::Test {
  protected:
    SystemdNotifierTest() {
        const std::string path = folder_.path_of("notify");
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    }
    ~SystemdNotifierTest() override {
        ::close(socket_);
        for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
            ::unsetenv(name);
        }
    }

    // The next datagram; "" after that time without one.
    std::string told(int milliseconds = 60'000) const {
        pollfd watched{socket_, POLLIN, 0};
        if (::poll(&watched, 1, milliseconds) != 1) return "";
        std::array<char, 256> room{};
        const ssize_t bytes = ::recv(socket_, room.data(), room.size(), 0);
        return bytes > 0 ? std::string(room.data(), static_cast<std::size_t>(bytes)) : "";
    }

    const testing::TemporaryFolder folder_;
    const int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

TEST_F(SystemdNotifierTest, TellsByADatagram) {
    const SystemdNotifier systemd;
    systemd.tell("READY=1");
    EXPECT_EQ(told(), "READY=1");
    EXPECT_EQ(systemd.patience(), Duration::zero());
}

TEST_F(SystemdNotifierTest, OneThatIsNotThereOrGoneIsNoTrouble) {
    const SystemdNotifier gone;
    ::unlink(std::getenv("NOTIFY_SOCKET"));
    gone.tell("READY=1");
    ::setenv("NOTIFY_SOCKET", "vsock:2:1234", 1);
    SystemdNotifier().tell("READY=1");
    ::setenv("NOTIFY_SOCKET", std::string(200, '/').c_str(), 1);
    SystemdNotifier().tell("READY=1");
    ::unsetenv("NOTIFY_SOCKET");
    SystemdNotifier().tell("READY=1");
}

TEST_F(SystemdNotifierTest, TheTimeOfTheWatchdogIsOnlyOursAndANumber) {
    ::setenv("WATCHDOG_USEC", "1500000", 1);
    EXPECT_EQ(SystemdNotifier().patience(), 1500ms);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    EXPECT_EQ(SystemdNotifier().patience(), 1500ms);
    ::setenv("WATCHDOG_PID", "1", 1);
    EXPECT_EQ(SystemdNotifier().patience(), Duration::zero());
    ::unsetenv("WATCHDOG_PID");
    for (const char* wrong : {"", "-5", "soon", "1e6", "99999999999999999999", "0"}) {
        ::setenv("WATCHDOG_USEC", wrong, 1);
        EXPECT_EQ(SystemdNotifier().patience(), Duration::zero()) << wrong;
    }
}

TEST_F(SystemdNotifierTest, TheServiceIsAliveWhileEachLoopTurns) {
    ::setenv("WATCHDOG_USEC", "2000", 1);
    const SystemdNotifier systemd;
    auto loops = LoopGroup::create(2, {});
    ASSERT_TRUE(loops.has_value());
    std::optional<Heartbeat> heartbeat(std::in_place, systemd, **loops);
    std::thread first([&] { (*loops)->run(); });
    EXPECT_EQ(told(), "WATCHDOG=1");
    EXPECT_EQ(told(), "WATCHDOG=1");

    std::latch hangs(1);
    std::latch is_over(1);
    EXPECT_TRUE((*loops)->loop(1).post([&] {
        hangs.count_down();
        is_over.wait();
    }));
    hangs.wait();
    while (!told(0).empty()) {
    }
    // At most one more message: the loop may have answered a round before it hung.
    std::size_t more = 0;
    while (!told(200).empty()) ++more;
    EXPECT_LE(more, 1U);
    is_over.count_down();
    EXPECT_EQ(told(), "WATCHDOG=1");

    (*loops)->stop();
    first.join();
    heartbeat.reset();
}

}  // namespace
}  // namespace tiderace::net
#endif

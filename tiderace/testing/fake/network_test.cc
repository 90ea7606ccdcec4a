#include "tiderace/testing/fake/network.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>

namespace tiderace::testing {
namespace {

class FakeNetworkTest : public ::testing::Test {
  protected:
    int listen(int backlog = 8) {
        const int fd = network_.open_socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_storage storage{};
        const socklen_t bytes = at_.to_sockaddr(storage);
        EXPECT_EQ(network_.bind(fd, reinterpret_cast<const sockaddr*>(&storage), bytes), 0);
        EXPECT_EQ(network_.listen(fd, backlog), 0);
        return fd;
    }
    int accept(int listener) { return network_.accept(listener, nullptr, nullptr); }
    ssize_t send(int fd, std::string_view text) {
        const iovec pieces[2] = {{const_cast<char*>(text.data()), 1},
                                 {const_cast<char*>(text.data()) + 1, text.size() - 1}};
        return network_.send(fd, pieces, 2, false);
    }
    ssize_t receive(int fd) {
        char buffer[64];
        return network_.receive(fd, buffer, sizeof buffer);
    }

    ManualClock clock_;
    FakeNetwork network_{clock_, {}};
    core::Address at_ = core::Address::loopback(8080);
};

TEST_F(FakeNetworkTest, NumbersItsDescriptorsFromABaseAndReusesTheLowest) {
    const int first = network_.open_socket(AF_INET, SOCK_STREAM, 0);
    const int second = network_.open_socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(first, FakeNetwork::first_descriptor);
    EXPECT_EQ(second, first + 1);
    network_.close(first);
    EXPECT_EQ(network_.make_file("x"), first);
    EXPECT_EQ(network_.open_descriptors(), 2U);
}

TEST_F(FakeNetworkTest, AcceptsInOrderUpToItsBacklog) {
    const int listener = listen(2);
    const auto one = network_.dial(at_).socket;
    const auto two = network_.dial(at_).socket;
    const auto third = network_.dial(at_);
    EXPECT_EQ(third.socket, nullptr);
    EXPECT_FALSE(third.refused);
    EXPECT_TRUE(network_.dial(core::Address::loopback(1)).refused);
    const int accepted = accept(listener);
    one->put("from one");
    EXPECT_EQ(network_.socket(accepted)->unread(), 8U);
    EXPECT_GE(accept(listener), 0);
    EXPECT_EQ(accept(listener), -EAGAIN);
}

TEST_F(FakeNetworkTest, ASecondListenerOnAnAddressIsRefused) {
    listen();
    const int other = network_.open_socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_storage storage{};
    const socklen_t bytes = at_.to_sockaddr(storage);
    EXPECT_EQ(network_.bind(other, reinterpret_cast<const sockaddr*>(&storage), bytes),
              -EADDRINUSE);
}

TEST_F(FakeNetworkTest, GathersPiecesAndSendsFiles) {
    const int listener = listen();
    const auto peer = network_.dial(at_).socket;
    const int fd = accept(listener);
    EXPECT_EQ(send(fd, "hello"), 5);
    const int file = network_.make_file(" world and more");
    off_t offset = 0;
    EXPECT_EQ(network_.send_file(fd, file, &offset, 6), 6);
    EXPECT_EQ(offset, 6);
    char buffer[32];
    const ssize_t got = peer->take(buffer, sizeof buffer);
    EXPECT_EQ(ByteView(buffer, static_cast<std::size_t>(got)), "hello world");
    network_.truncate_file(file, 3);
    EXPECT_EQ(network_.send_file(fd, file, &offset, 6), 0);
    struct stat status;
    EXPECT_EQ(network_.file_status(file, &status), 0);
    EXPECT_EQ(status.st_size, 3);
}

TEST_F(FakeNetworkTest, RunsOutOfDescriptors) {
    const int listener = listen();
    const auto peer = network_.dial(at_).socket;
    network_.set_descriptors_max(1);
    EXPECT_EQ(accept(listener), -EMFILE);
    EXPECT_EQ(network_.open_socket(AF_INET, SOCK_STREAM, 0), -EMFILE);
    network_.set_descriptors_max(2);
    EXPECT_GE(accept(listener), 0);
}

TEST_F(FakeNetworkTest, EventsHappenInOrderOfTimeAndThenOfAsking) {
    std::string order;
    const Instant now = clock_.now();
    network_.at(now + 2ms, [&] { order += 'c'; });
    network_.at(now + 1ms, [&] {
        order += 'a';
        network_.at(now + 1ms, [&] { order += 'x'; });
    });
    network_.at(now + 1ms, [&] { order += 'b'; });
    network_.run_due_events();
    EXPECT_EQ(order, "");
    clock_.advance(1ms);
    network_.run_due_events();
    EXPECT_EQ(order, "abx");
    EXPECT_EQ(network_.next_event(), now + 2ms);
}

TEST_F(FakeNetworkTest, RecordsOptionsAndTellsThePendingErrorOnce) {
    const int fd = network_.open_socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    network_.set_option(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    int value = 0;
    socklen_t bytes = sizeof value;
    network_.get_option(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &bytes);
    EXPECT_EQ(value, 1);

    sockaddr_storage storage{};
    const socklen_t used = at_.to_sockaddr(storage);  // no listener
    EXPECT_EQ(network_.connect(fd, reinterpret_cast<const sockaddr*>(&storage), used),
              -EINPROGRESS);
    EXPECT_TRUE(network_.socket(fd)->writable());
    network_.get_option(fd, SOL_SOCKET, SO_ERROR, &value, &bytes);
    EXPECT_EQ(value, ECONNREFUSED);
    network_.get_option(fd, SOL_SOCKET, SO_ERROR, &value, &bytes);
    EXPECT_EQ(value, 0);
}

TEST_F(FakeNetworkTest, TracesOnDemand) {
    const int listener = listen();
    network_.trace_on();
    accept(listener);
    EXPECT_EQ(network_.trace(), std::vector<std::string>{"0 us  accept(5000) = -11"});
}

struct FaultCase {
    FaultPlan plan;
    ssize_t received;
    ssize_t sent;
};

class FakeNetworkFault : public ::testing::TestWithParam<FaultCase> {};

INSTANTIATE_TEST_SUITE_P(
    Faults, FakeNetworkFault,
    ::testing::Values(FaultCase{{.interrupted = FaultPlan::always}, -EINTR, -EINTR},
                      FaultCase{{.receive_again = FaultPlan::always}, -EAGAIN, 8},
                      FaultCase{{.send_again = FaultPlan::always}, 8, -EAGAIN},
                      FaultCase{{.send_no_buffers = FaultPlan::always}, 8, -ENOBUFS},
                      FaultCase{{.receive_reset = FaultPlan::always}, -ECONNRESET, -EPIPE},
                      FaultCase{{.send_reset = FaultPlan::always}, 8, -EPIPE}));

TEST_P(FakeNetworkFault, ComesFromTheCallItBelongsTo) {
    ManualClock clock;
    FakeNetwork network(clock, {});
    const int listener = network.open_socket(AF_INET, SOCK_STREAM, 0);
    network.listen(listener, 8);
    const auto peer = network.dial(network.socket(listener)->local).socket;
    ASSERT_NE(peer, nullptr);
    const int fd = network.accept(listener, nullptr, nullptr);
    peer->put("8 bytes.");
    network.plan() = GetParam().plan;
    char buffer[64];
    EXPECT_EQ(network.receive(fd, buffer, sizeof buffer), GetParam().received);
    char text[] = "8 bytes.";
    const iovec piece{text, 8};
    EXPECT_EQ(network.send(fd, &piece, 1, false), GetParam().sent);
}

TEST_F(FakeNetworkTest, ShortTransfersAreShortAndNeverEmpty) {
    network_.plan().short_receive = network_.plan().short_send = FaultPlan::always;
    const int listener = listen();
    const auto peer = network_.dial(at_).socket;
    const int fd = accept(listener);
    peer->put("eight by");
    const ssize_t got = receive(fd);
    EXPECT_GT(got, 0);
    EXPECT_LT(got, 8);
    const ssize_t sent = send(fd, "eight by");
    EXPECT_GT(sent, 0);
    EXPECT_LT(sent, 8);
}

TEST_F(FakeNetworkTest, AFileShrinksWhileItIsSent) {
    network_.plan().file_shrinks = FaultPlan::always;
    const int listener = listen();
    const auto peer = network_.dial(at_).socket;
    const int fd = accept(listener);
    const int file = network_.make_file("contents");
    off_t offset = 4;
    EXPECT_EQ(network_.send_file(fd, file, &offset, 4), 0);
}

TEST(FakeNetworkDeathTest, ClosingTwiceAborts) {
    ManualClock clock;
    FakeNetwork network(clock, {});
    const int fd = network.make_file("");
    network.close(fd);
    EXPECT_DEATH(network.close(fd), "closed twice");
}

}  // namespace
}  // namespace tiderace::testing

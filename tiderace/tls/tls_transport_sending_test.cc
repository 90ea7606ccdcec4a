// A TlsTransport's reports of its sending: how far the peer is, and what cannot be sent.
#include <fcntl.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/tls/tls_fixture.h"

namespace tiderace::tls {
namespace {

struct OpenFile final : core::SharedFile {
    explicit OpenFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY)) {}
    ~OpenFile() override { core::system_kernel().close(descriptor_); }
    int descriptor() const override { return descriptor_; }
    int descriptor_;
};

// The layer above, as net::Connection is; but it keeps its transport after a failure.
struct Above final : net::Transport::Observer {
    void on_received(ByteView bytes) override { on_bytes(bytes); }
    void on_receive_failed(int error) override { failures.push_back(error); }
    void on_sent(std::int64_t result) override { room.push_back(result); }
    void on_secured() override { secured = true; }

    std::function<void(ByteView)> on_bytes = [](ByteView) {};
    std::vector<int> failures;
    std::vector<std::int64_t> room;
    bool secured = false;
};

// Breaks on demand, and counts the calls of set_receiving().
class Breaking final : public net::Transport {
  public:
    struct State {
        bool broken = false;
        int set_receivings = 0;
    };

    Breaking(std::unique_ptr<net::Transport> below, State& state)
        : below_(std::move(below)), state_(&state) {}
    void open(Observer& observer) override { below_->open(observer); }
    void set_receiving(bool on) override {
        ++state_->set_receivings;
        below_->set_receiving(on);
    }
    core::Sent send(core::SendQueue& queue) override {
        if (state_->broken) return {.error = -EPIPE};
        return below_->send(queue);
    }
    void finish() override { below_->finish(); }
    void close(core::SendQueue&& unsent) override { below_->close(std::move(unsent)); }
    void set_reset_on_close() override { below_->set_reset_on_close(); }

  private:
    std::unique_ptr<net::Transport> below_;
    State* state_;
};

class SendingTest : public TlsTest {
  protected:
    // A connection whose handshake is done, seen as the layer above sees it. The peer has it.
    net::Transport& establish(const testing::PipeOptions& options = {}) {
        if (!server_) serve();
        if (client_ == nullptr) trust();
        auto transport =
            client_->wrap(std::make_unique<Breaking>(reach(options), below_), "localhost");
        net::Transport& seen = *transport;
        peer_ = std::make_unique<testing::TransportPeer>(world_.loop(), std::move(transport));
        EXPECT_TRUE(run_until([&] { return seen.security() != nullptr; }));
        world_.settle();
        return seen;
    }
    core::Sent send_file(net::Transport& transport, const std::string& path,
                         std::string_view before = {}) {
        core::SendQueue queue;
        queue.append(world_.loop().blocks(), before);
        queue.append_file(core::make_ref<OpenFile>(path), 0, 1'000);
        const core::Sent sent = transport.send(queue);
        queue.clear();
        return sent;
    }
    core::Sent send(net::Transport& transport, std::string_view text) {
        core::SendQueue queue;
        queue.append(world_.loop().blocks(), text);
        const core::Sent sent = transport.send(queue);
        queue.clear();
        return sent;
    }

    Breaking::State below_;
    std::unique_ptr<testing::TransportPeer> peer_;
};

// Sealed bytes that wait here are not taken by the peer yet.
TEST_F(SendingTest, CountsWhatWaitsHereAndBelow) {
    for (const std::size_t capacity : {1'000'000U, 300U}) {
        SCOPED_TRACE(capacity);
        net::Transport& transport = establish({.capacity = capacity});
        EXPECT_EQ(transport.unacknowledged_bytes(), 0U);
        send(transport, std::string(10'000, 'x'));
        if (capacity < 10'000) {
            EXPECT_GE(transport.unacknowledged_bytes(), 9'000U);
            EXPECT_LE(transport.unacknowledged_bytes(), 10'300U);
        }
        ASSERT_TRUE(run_until([&] { return peer_->heard().size() == 10'000; }));
        EXPECT_EQ(transport.unacknowledged_bytes(), 0U);
    }
}

TEST_F(SendingTest, ASendReportsTheBytesThatItTookAndLeavesTheRest) {
    net::Transport& transport = establish();
    core::SendQueue queue;
    const std::string text(4 << 20, 'x');
    queue.append(world_.loop().blocks(), text);
    const core::Sent sent = transport.send(queue);
    EXPECT_GT(sent.bytes, 0U);
    EXPECT_GT(queue.bytes(), 0U) << "the pipe has no room for all";
    EXPECT_EQ(sent.bytes + queue.bytes(), text.size());
    EXPECT_TRUE(sent.pending);
    queue.clear();
}

TEST_F(SendingTest, WhoWaitsForRoomHearsThatThereWillBeNone) {
    establish({.capacity = 300});
    peer_->say(std::string(10'000, 'x'));
    world_.loop().turn(Duration::zero());
    EXPECT_EQ(peer_->error(), 0);
    below_.broken = true;
    world_.settle();
    EXPECT_EQ(peer_->error(), -EPIPE);
}

// A connection whose handshake is done. The socket below has taken a part of what was sent, and the
// rest waits: the observer is due a report of room.
class WaitingForRoomTest : public SendingTest {
  protected:
    void SetUp() override {
        serve();
        trust();
        transport_ = client_->wrap(reach({.capacity = 300}), "localhost");
        transport_->open(above_);
        transport_->set_receiving(true);
        ASSERT_TRUE(run_until([&] { return above_.secured; }));
        world_.settle();
        ASSERT_FALSE(send(*transport_, "echoed long before the rest is sent").pending);
        const core::Sent sent = send(*transport_, std::string(10'000, 'x'));
        ASSERT_TRUE(sent.pending);
        ASSERT_EQ(sent.bytes, 10'000U);
    }
    ~WaitingForRoomTest() override {
        if (transport_ != nullptr) transport_->close({});
    }
    // The echo arrives while the report is due.
    void arrive() {
        ASSERT_TRUE(run_until([&] { return arrived_ || !above_.room.empty(); }));
        ASSERT_TRUE(arrived_);
        world_.settle();
    }

    Above above_;
    std::unique_ptr<net::Transport> transport_;
    bool arrived_ = false;
};

// send() counted them when it took them.
TEST_F(WaitingForRoomTest, RoomIsReportedOnceAndWithoutBytes) {
    ASSERT_TRUE(run_until([&] { return !above_.room.empty(); }));
    world_.settle();
    EXPECT_EQ(above_.room, std::vector<std::int64_t>{0});
}

TEST_F(WaitingForRoomTest, NothingFollowsTheReportThatMemoryRanOut) {
    above_.on_bytes = [this](ByteView) {
        arrived_ = true;
        throw std::bad_alloc();
    };
    arrive();
    EXPECT_EQ(above_.failures, std::vector<int>{-ENOMEM});
    EXPECT_TRUE(above_.room.empty());
}

TEST_F(WaitingForRoomTest, NothingIsReportedToAnObserverThatClosedAndRanOutOfMemory) {
    above_.on_bytes = [this](ByteView) {
        arrived_ = true;
        transport_->close({});
        throw std::bad_alloc();
    };
    arrive();
    EXPECT_TRUE(above_.failures.empty());
    EXPECT_TRUE(above_.room.empty());
    transport_.reset();
}

// The layer above may repair its queue.
TEST_F(SendingTest, AFileThatIsShorterThanAnnouncedBreaksNothing) {
    net::Transport& transport = establish();
    folder_.write("short", "");
    EXPECT_EQ(send_file(transport, folder_.path_of("short"), "before it, ").error, -EBADMSG);
    EXPECT_TRUE(run_until([&] { return peer_->heard() == "before it, "; }));
    EXPECT_EQ(send(transport, "repaired").error, 0);
    EXPECT_TRUE(run_until([&] { return peer_->heard() == "before it, repaired"; }));
}

TEST_F(SendingTest, NothingFollowsAFileThatCannotBeRead) {
    net::Transport& transport = establish();
    const core::Sent failed = send_file(transport, folder_.path());
    EXPECT_EQ(failed.error, -EISDIR);
    EXPECT_FALSE(failed.pending);
    const core::Sent sent = send(transport, "behind it");
    EXPECT_EQ(sent.error, -EISDIR);
    EXPECT_EQ(sent.bytes, 0U);
    world_.settle();
    EXPECT_EQ(peer_->heard(), "");
}

TEST_F(SendingTest, WhatBreaksBelowBreaksTheSendThatFindsIt) {
    net::Transport& transport = establish();
    below_.broken = true;
    EXPECT_EQ(send(transport, "lost").error, -EPIPE);
}

// io_uring, for one, would watch it for a hang-up, and report a second end.
TEST_F(SendingTest, WhatBrokeBelowIsNotToldToPause) {
    establish();
    const int before = below_.set_receivings;
    sessions_.connection->close(net::CloseReason::aborted);
    ASSERT_TRUE(run_until([&] { return peer_->over(); }));
    EXPECT_EQ(peer_->error(), -ECONNRESET);
    EXPECT_EQ(below_.set_receivings, before);
}

TEST_F(SendingTest, WhatIsUnsentAtTheCloseGivesItsMemoryBackAtOnce) {
    establish({.capacity = 300});
    peer_->say(std::string(1'000'000, 'x'));
    world_.loop().turn(Duration::zero());
    ASSERT_GT(world_.loop().blocks().taken(), 10U);
    peer_->close();
    world_.settle();
    EXPECT_EQ(world_.loop().blocks().taken(), 0U);
}

}  // namespace
}  // namespace tiderace::tls

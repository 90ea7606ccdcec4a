#include "tiderace/net/connection.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "tiderace/testing/engine.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/world.h"

namespace tiderace::net {
namespace {

using testing::Call;

constexpr ByteView question = "question";

// Bytes that live as long as the program; sent without a copy.
struct Forever final : core::Shared {};
const std::string& much() {
    static const std::string bytes(32 << 20, 'x');  // more than any socket's buffers
    return bytes;
}
Backlog send_much(Connection& connection) {
    connection.queue().append_shared(much(), core::make_ref<Forever>());
    return connection.written();
}

class EveryConnection : public ::testing::TestWithParam<std::string> {
  protected:
    ~EveryConnection() override { EXPECT_EQ(world_->loop().blocks().taken(), 0U); }

    // A server with one peer that is connected.
    void start(ConnectionLimits limits = {}) {
        server_.emplace(world_->loop(), sessions_, TcpServerOptions{.connection = limits});
        server_->listen(world_->listen());
        peer_ = world_->connect();
        ASSERT_TRUE(world_->run_until([&] { return sessions_.opened == 1; }));
    }
    // Not by the ring, where an answer leaves with the next wait.
    bool sends_by_call() const { return GetParam() != "io_uring-together"; }
    bool run_until_closed() {
        return world_->run_until([&] { return !sessions_.closed.empty(); });
    }
    void expect_closed(CloseReason reason) {
        ASSERT_TRUE(run_until_closed());
        world_->settle();
        EXPECT_EQ(sessions_.closed, std::vector{reason}) << to_string(sessions_.closed[0]);
        EXPECT_EQ(server_->size(), 0U);
        EXPECT_EQ(server_->counters().closed[static_cast<std::size_t>(reason)], 1U);
    }
    bool run_until_heard(ByteView text) {
        return world_->run_until([&] { return peer_->heard() == text; });
    }

    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
    testing::ScriptedSessions sessions_;
    std::optional<TcpServer> server_;
    std::unique_ptr<testing::Peer> peer_;
};

INSTANTIATE_TEST_SUITE_P(Engines, EveryConnection, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

// ---- every reason to close ---------------------------------------------------------------------

TEST_P(EveryConnection, ClosesAsFinishedWhenAllIsSent) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.write("answer");
        connection.close_when_sent();
        return data.size();
    };
    start();
    peer_->say(question);
    expect_closed(CloseReason::finished);
    EXPECT_TRUE(world_->run_until([&] { return peer_->ended(); }));
    EXPECT_EQ(peer_->heard(), "answer");
}

TEST_P(EveryConnection, ClosesWhenThePeerFinished) {
    start();
    peer_->say(question);
    peer_->finish();
    expect_closed(CloseReason::peer_finished);
    EXPECT_EQ(sessions_.received, question);
    EXPECT_TRUE(world_->run_until([&] { return peer_->ended(); }));
}

TEST_P(EveryConnection, ClosesWhenThePeerResets) {
    start();
    peer_->reset();
    expect_closed(CloseReason::peer_reset);
}

TEST_P(EveryConnection, ClosesWhenTheDeadlinePasses) {
    sessions_.on_open = [](Connection& connection) {
        connection.set_deadline(connection.loop().now() + 5s);
    };
    start();
    world_->advance(4s);
    EXPECT_TRUE(sessions_.closed.empty());
    world_->advance(2s);
    expect_closed(CloseReason::deadline_expired);
}

TEST_P(EveryConnection, ClosesAsIdleWhenTheSessionSaysSo) {
    sessions_.on_open = [](Connection& connection) {
        connection.set_deadline(connection.loop().now() + 5s);
    };
    sessions_.on_deadline = [](Connection& connection) {
        connection.close(CloseReason::idle_expired);
    };
    start();
    world_->advance(6s);
    expect_closed(CloseReason::idle_expired);
}

TEST_P(EveryConnection, ClosesWhenThePeerTakesNothing) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        send_much(connection);
        return data.size();
    };
    start({.write = 10s});
    peer_->set_listening(false);
    peer_->say(question);
    ASSERT_TRUE(world_->run_until([&] { return sessions_.received == question; }));
    world_->settle();
    world_->advance(9s);
    EXPECT_TRUE(sessions_.closed.empty());
    for (int i = 0; i < 10 && sessions_.closed.empty(); ++i) world_->advance(11s);  // late acks
    expect_closed(CloseReason::write_stalled);
    // The kernel's bytes for it are freed, and not offered to it for minutes.
    peer_->set_listening(true);
    ASSERT_TRUE(world_->run_until([&] { return peer_->over(); }));
    EXPECT_TRUE(peer_->was_reset());
}

TEST_P(EveryConnection, ClosesWhenTheQueueOverflows) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        EXPECT_EQ(connection.write(std::string(1'000, 'x')), Backlog::low);
        EXPECT_EQ(connection.write(std::string(1'001, 'x')), Backlog::high);
        EXPECT_TRUE(connection.closing());
        EXPECT_EQ(connection.write("more"), Backlog::low);  // a no-op now
        return data.size();
    };
    start({.queue_bytes_max = 2'000});
    peer_->say(question);
    expect_closed(CloseReason::queue_overflow);
    EXPECT_EQ(peer_->heard(), "");
}

TEST_P(EveryConnection, ClosesWhenTheSessionUsesTooLittle) {
    sessions_.on_data = [](Connection&, ByteView) { return std::size_t{0}; };
    start({.unread_bytes_max = 2'000});
    peer_->say(std::string(2'000, 'x'));
    ASSERT_TRUE(world_->run_until([&] {
        return !sessions_.deliveries.empty() && sessions_.deliveries.back().size() == 2'000;
    }));
    EXPECT_TRUE(sessions_.closed.empty());
    peer_->say("x");
    expect_closed(CloseReason::unread_overflow);
}

TEST_P(EveryConnection, ClosesWhenAFileShrankWhileItWasSent) {
    struct File final : core::SharedFile {
        File() : fd(::memfd_create("shrinking", 0)) { EXPECT_EQ(::ftruncate(fd, 100), 0); }
        ~File() override { ::close(fd); }
        int descriptor() const override { return fd; }
        int fd;
    };
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.write("head");
        connection.queue().append_file(core::make_ref<File>(), 0, 101);
        connection.written();
        return data.size();
    };
    start();
    peer_->say(question);
    expect_closed(CloseReason::source_shrank);
    EXPECT_TRUE(world_->run_until([&] { return peer_->over(); }));
    EXPECT_EQ(peer_->heard(), "head" + std::string(100, '\0'));
}

TEST_P(EveryConnection, ClosesWhenTheServerStops) {
    start();
    server_->abort_all();
    expect_closed(CloseReason::server_stopped);
    ASSERT_TRUE(world_->run_until([&] { return peer_->over(); }));
    EXPECT_FALSE(peer_->was_reset()) << "nothing was cut off";
}

// ---- writing -----------------------------------------------------------------------------------

TEST_P(EveryConnection, SeveralWritesOfOneDeliveryLeaveInOneCall) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        for (const char* part : {"one ", "two ", "three "}) connection.write(part);
        connection.queue().append_shared("four", core::make_ref<Forever>());
        connection.written();
        return data.size();
    };
    start();
    const std::uint64_t before = world_->kernel().calls(Call::send);
    peer_->say(question);
    EXPECT_TRUE(run_until_heard("one two three four"));
    EXPECT_EQ(world_->kernel().calls(Call::send) - before, sends_by_call() ? 1U : 0U);
}

TEST_P(EveryConnection, WritesOutsideADeliveryLeaveAtTheEndOfTheTurn) {
    start();
    const std::uint64_t before = world_->kernel().calls(Call::send);
    world_->loop().post([&] {
        sessions_.connection->write("one ");
        sessions_.connection->write("");
        sessions_.connection->write("two");
        EXPECT_EQ(world_->kernel().calls(Call::send), before);
    });
    EXPECT_TRUE(run_until_heard("one two"));
    EXPECT_EQ(world_->kernel().calls(Call::send) - before, sends_by_call() ? 1U : 0U);
}

TEST_P(EveryConnection, FlushSendsNow) {
    start();
    world_->loop().post([&] {
        sessions_.connection->write("now");
        sessions_.connection->flush();
        EXPECT_EQ(sessions_.connection->queue_bytes(), 0U);
        EXPECT_EQ(sessions_.connection->bytes_sent(), sends_by_call() ? 3U : 0U);
    });
    EXPECT_TRUE(run_until_heard("now"));
}

TEST_P(EveryConnection, PausesReadingWhileThePeerIsSlowAndGoesOnWhenItCaughtUp) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        EXPECT_EQ(send_much(connection), Backlog::high);
        return data.size();
    };
    start();
    peer_->set_listening(false);
    peer_->say("first");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.received == "first"; }));
    world_->settle();
    peer_->say("second");
    world_->settle();
    EXPECT_EQ(sessions_.received, "first");
    EXPECT_EQ(sessions_.drained, 0);
    peer_->set_listening(true);
    EXPECT_TRUE(world_->run_until([&] { return sessions_.received == "firstsecond"; }));
    EXPECT_GE(sessions_.drained, 1);
    EXPECT_TRUE(world_->run_until([&] { return peer_->heard().size() == 2 * much().size(); }));
    EXPECT_EQ(sessions_.drained, 2);
}

TEST_P(EveryConnection, WhatTheSessionLeftForItsBacklogIsGivenAgainOnceThatIsSent) {
    bool answered = false;
    sessions_.on_data = [&](Connection& connection, ByteView data) {
        if (std::exchange(answered, true)) return data.size();
        EXPECT_EQ(send_much(connection), Backlog::high);
        return std::size_t{5};
    };
    start();
    peer_->set_listening(false);
    peer_->say("firstsecond");
    ASSERT_TRUE(world_->run_until([&] { return answered; }));
    world_->settle();
    EXPECT_EQ(sessions_.received, "first");
    peer_->set_listening(true);
    EXPECT_TRUE(world_->run_until([&] { return sessions_.received == "firstsecond"; }));
    EXPECT_EQ(sessions_.deliveries, (std::vector<std::string>{"firstsecond", "second"}));
}

TEST_P(EveryConnection, DrainedComesAtTheLowMarkAndOnlyAfterTheHighOne) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        EXPECT_EQ(connection.write(std::string(1'000, 'a')), Backlog::low);  // at the mark
        return data.size();
    };
    sessions_.on_drained = [](Connection& connection) { EXPECT_LE(connection.queue_bytes(), 10U); };
    start({.queue_bytes_high = 1'000, .queue_bytes_low = 10});
    peer_->say(question);
    EXPECT_TRUE(world_->run_until([&] { return peer_->heard().size() == 1'000; }));
    EXPECT_EQ(sessions_.drained, 0);
    world_->loop().post(
        [&] { EXPECT_EQ(sessions_.connection->write(std::string(1'001, 'b')), Backlog::high); });
    EXPECT_TRUE(world_->run_until([&] { return peer_->heard().size() == 2'001; }));
    EXPECT_EQ(sessions_.drained, 1);
}

TEST_P(EveryConnection, DrainedComesBelowTheHighMarkWhereItIsWanted) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.want_drained();
        EXPECT_EQ(connection.write(std::string(500, 'a')), Backlog::low);
        return data.size();
    };
    sessions_.on_drained = [](Connection& connection) { EXPECT_LE(connection.queue_bytes(), 10U); };
    start({.queue_bytes_high = 1'000, .queue_bytes_low = 10});
    peer_->say(question);
    EXPECT_TRUE(world_->run_until([&] { return sessions_.drained == 1; }));
    world_->loop().post([&] { sessions_.connection->write(std::string(500, 'b')); });
    EXPECT_TRUE(world_->run_until([&] { return peer_->heard().size() == 1'000; }));
    EXPECT_EQ(sessions_.drained, 1);  // once for each wish
}

TEST_P(EveryConnection, TheQueuesBoundCountsCopiedBytesOnly) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        send_much(connection);
        EXPECT_EQ(connection.write(std::string(2'000, 'x')), Backlog::high);
        EXPECT_FALSE(connection.closing());
        return data.size();
    };
    start({.queue_bytes_max = 2'000});
    peer_->say(question);
    EXPECT_TRUE(world_->run_until([&] { return peer_->heard().size() == much().size() + 2'000; }));
    EXPECT_TRUE(sessions_.closed.empty());
}

TEST_P(EveryConnection, AnIdleOneHoldsNoBlock) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.write(std::string(100'000, 'x'));
        return data.size();
    };
    start();
    peer_->say(question);
    EXPECT_TRUE(world_->run_until([&] { return peer_->heard().size() == 100'000; }));
    EXPECT_EQ(world_->loop().blocks().taken(), 0U);
    EXPECT_EQ(server_->size(), 1U);
}

TEST_P(EveryConnection, WritingAfterFinishAborts) {
    start();
    EXPECT_DEATH(
        {
            sessions_.connection->finish();
            sessions_.connection->write("too late");
        },
        "write after finish");
}

// ---- reading -----------------------------------------------------------------------------------

TEST_P(EveryConnection, UnusedBytesComeAgainBeforeNewerOnes) {
    sessions_.on_data = [](Connection&, ByteView data) {
        return data.size() < 6 ? 0 : data.size() - 1;
    };
    start();
    peer_->say("abc");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.deliveries.size() == 1; }));
    EXPECT_TRUE(sessions_.connection->has_unread());
    peer_->say("def");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.deliveries.size() == 2; }));
    peer_->say("ghijkl");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.deliveries.size() == 3; }));
    EXPECT_EQ(sessions_.deliveries, (std::vector<std::string>{"abc", "abcdef", "fghijkl"}));
    EXPECT_EQ(sessions_.received, "abcdefghijk");
}

TEST_P(EveryConnection, DoesNotReadWhileReadingIsOff) {
    start();
    sessions_.connection->set_reading(false);
    peer_->say("later");
    world_->settle();
    EXPECT_TRUE(sessions_.deliveries.empty());
    sessions_.connection->set_reading(true);
    EXPECT_TRUE(world_->run_until([&] { return sessions_.received == "later"; }));
}

// The peer's own socket fills up then; its bytes do not pile up here.
TEST_P(EveryConnection, WhatAPeerSaysWhileReadingIsOffWaitsInItsSocket) {
    start({.unread_bytes_max = 1'000});
    sessions_.connection->set_reading(false);
    const std::string more_than_may_be_unread(5'000, 'x');
    peer_->say(more_than_may_be_unread);
    world_->settle();
    EXPECT_TRUE(sessions_.closed.empty());
    sessions_.connection->set_reading(true);
    EXPECT_TRUE(world_->run_until([&] { return sessions_.received == more_than_may_be_unread; }));
}

TEST_P(EveryConnection, TurningReadingOnGivesTheUnreadBytesOnceAndNotInsideTheCall) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.set_reading(false);
        return data.size() / 2;
    };
    start();
    peer_->say("abcd");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.received == "ab"; }));
    sessions_.connection->set_reading(true);
    EXPECT_EQ(sessions_.received, "ab");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.received == "abc"; }));
    world_->settle();
    EXPECT_EQ(sessions_.deliveries.size(), 2U);
}

TEST_P(EveryConnection, TurningReadingOnWhereItIsOnDoesNotSpin) {
    sessions_.on_data = [](Connection& connection, ByteView) {
        connection.set_reading(true);
        return std::size_t{0};
    };
    start();
    peer_->say("a");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.deliveries.size() == 1; }));
    peer_->say("b");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.deliveries.size() == 2; }));
    world_->settle();
    EXPECT_EQ(sessions_.deliveries, (std::vector<std::string>{"a", "ab"}));
}

TEST_P(EveryConnection, UnreadBytesAreGivenAgainOnRequest) {
    bool busy = true;
    sessions_.on_data = [&](Connection&, ByteView data) { return busy ? 0 : data.size(); };
    start();
    peer_->say("waits");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.deliveries.size() == 1; }));
    busy = false;
    sessions_.connection->deliver_unread_later();
    EXPECT_EQ(sessions_.received, "");
    world_->loop().turn(Duration::zero());
    EXPECT_EQ(sessions_.received, "waits");
}

TEST_P(EveryConnection, AHalfClosedPeerGetsItsAnswer) {
    sessions_.on_peer_finished = [](Connection& connection) {
        EXPECT_TRUE(connection.peer_finished());
    };
    start();
    peer_->say(question);
    peer_->finish();
    ASSERT_TRUE(world_->run_until([&] { return sessions_.peer_finished == 1; }));
    EXPECT_EQ(sessions_.received, question);
    world_->advance(1s);
    world_->loop().post([&] {
        sessions_.connection->write("answer");
        sessions_.connection->close_when_sent();
    });
    expect_closed(CloseReason::peer_finished);
    EXPECT_TRUE(world_->run_until([&] { return peer_->ended(); }));
    EXPECT_EQ(peer_->heard(), "answer");
    EXPECT_EQ(sessions_.peer_finished, 1);
}

TEST_P(EveryConnection, ThePeersEndIsReportedAfterTheWaitingBytes) {
    start();
    sessions_.connection->set_reading(false);
    peer_->say(question);
    peer_->finish();
    world_->settle();
    EXPECT_EQ(sessions_.peer_finished, 0);
    sessions_.connection->set_reading(true);
    expect_closed(CloseReason::peer_finished);
    EXPECT_EQ(sessions_.received, question);
}

// ---- ending ------------------------------------------------------------------------------------

TEST_P(EveryConnection, FinishWaitsForThePeersEndSoThatNothingIsLost) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.write("answer");
        connection.finish();
        return data.size();
    };
    start();
    peer_->set_listening(false);
    peer_->say(question);
    ASSERT_TRUE(world_->run_until([&] { return sessions_.received == question; }));
    peer_->say("the peer goes on talking");  // a close now would answer this with a reset
    world_->settle();
    EXPECT_TRUE(sessions_.closed.empty());
    peer_->set_listening(true);
    ASSERT_TRUE(world_->run_until([&] { return peer_->ended(); }));
    EXPECT_EQ(peer_->heard(), "answer");
    EXPECT_EQ(sessions_.received, question);
    peer_->finish();
    expect_closed(CloseReason::finished);
}

TEST_P(EveryConnection, LingeringEndsAfterItsTime) {
    start({.linger = 2s});
    sessions_.connection->write("answer");
    sessions_.connection->finish();
    ASSERT_TRUE(world_->run_until([&] { return peer_->ended(); }));
    world_->advance(1s);
    peer_->say("a drip does not prolong it");
    EXPECT_TRUE(sessions_.closed.empty());
    world_->advance(2s);
    expect_closed(CloseReason::finished);
}

TEST_P(EveryConnection, LingeringReadsEvenIfTheSessionHadPausedReading) {
    start();
    sessions_.connection->set_reading(false);
    sessions_.connection->finish();
    world_->settle();
    peer_->say("unread");
    peer_->finish();
    expect_closed(CloseReason::finished);
    EXPECT_TRUE(world_->run_until([&] { return peer_->over(); }));
    EXPECT_TRUE(peer_->ended());
    EXPECT_EQ(sessions_.received, "");
}

TEST_P(EveryConnection, ASessionThatEndsIsGivenNoMoreBytes) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        send_much(connection);  // write after finish is misuse: a second delivery would abort
        connection.close_when_sent();
        return data.size();
    };
    start({.queue_bytes_high = 1_GiB});
    peer_->set_listening(false);
    peer_->say("first");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.received == "first"; }));
    peer_->say("second");
    world_->settle();
    EXPECT_EQ(sessions_.received, "first");
    peer_->set_listening(true);
    ASSERT_TRUE(world_->run_until([&] { return peer_->over(); }));
    EXPECT_TRUE(peer_->ended());  // it talked on, so the end became an orderly one
    EXPECT_EQ(peer_->heard().size(), much().size());
    EXPECT_TRUE(sessions_.closed.empty());
    peer_->finish();
    expect_closed(CloseReason::finished);
}

TEST_P(EveryConnection, AnOrderlyEndIsNotHurriedByALaterOne) {
    start();
    sessions_.connection->write("answer");
    sessions_.connection->finish();
    sessions_.connection->close_when_sent();
    ASSERT_TRUE(world_->run_until([&] { return peer_->ended(); }));
    world_->settle();
    EXPECT_TRUE(sessions_.closed.empty());
    peer_->finish();
    expect_closed(CloseReason::finished);
}

TEST_P(EveryConnection, AnEndThatWasSentIsNotHurriedByALaterOneEither) {
    start();
    sessions_.connection->finish();
    ASSERT_TRUE(world_->run_until([&] { return peer_->ended(); }));
    sessions_.connection->close_when_sent();
    world_->settle();
    EXPECT_TRUE(sessions_.closed.empty()) << "the peer's end is still waited for";
    sessions_.connection->finish();
    world_->settle();
    EXPECT_TRUE(sessions_.closed.empty()) << "nor is it said twice";
    peer_->finish();
    expect_closed(CloseReason::finished);
}

TEST_P(EveryConnection, ClosesWhenItIsAbortedWithItsQueueDroppedAndCallsBackLater) {
    start();
    sessions_.connection->write("dropped");
    sessions_.connection->close(CloseReason::aborted);
    sessions_.connection->close(CloseReason::idle_expired);  // the first reason stays
    EXPECT_TRUE(sessions_.closed.empty());
    expect_closed(CloseReason::aborted);
    EXPECT_TRUE(world_->run_until([&] { return peer_->over(); }));
    EXPECT_EQ(peer_->heard(), "");
}

TEST_P(EveryConnection, AHalfClosedPeerThatVanishesIsNoticed) {
    if (GetParam() == "select" || GetParam() == "kqueue") {
        GTEST_SKIP() << "it reports no error without interest";
    }
    if (testing::is_io_uring(GetParam()))
        GTEST_SKIP() << "its poll for errors ends at the half-close";
    sessions_.on_peer_finished = [](Connection&) {};  // an answer is still being made
    start();
    peer_->finish();
    ASSERT_TRUE(world_->run_until([&] { return sessions_.peer_finished == 1; }));
    peer_->reset();
    expect_closed(CloseReason::peer_reset);
}

TEST_P(EveryConnection, TheLingerIsNotTheSessionsToChange) {
    start({.linger = 2s});
    sessions_.connection->finish();
    ASSERT_TRUE(world_->run_until([&] { return peer_->ended(); }));
    sessions_.connection->set_deadline(Instant::max());
    world_->advance(3s);
    expect_closed(CloseReason::finished);
    EXPECT_EQ(sessions_.deadlines, 0);
}

TEST_P(EveryConnection, WhatIsUnreadIsDroppedWithAnEnd) {
    sessions_.on_data = [](Connection&, ByteView) { return std::size_t{0}; };
    start();
    peer_->say(question);
    ASSERT_TRUE(world_->run_until([&] { return sessions_.deliveries.size() == 1; }));
    sessions_.connection->deliver_unread_later();
    sessions_.connection->finish();
    EXPECT_FALSE(sessions_.connection->has_unread());
    world_->settle();
    EXPECT_EQ(sessions_.deliveries.size(), 1U);
}

// ---- another protocol --------------------------------------------------------------------------

}  // namespace
}  // namespace tiderace::net

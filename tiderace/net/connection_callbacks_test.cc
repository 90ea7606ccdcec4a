// A Session may call anything on its connection from inside any callback. Each callback with each
// action: one on_close, nothing freed under the caller (the sanitizers look), nothing left over.
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/transport_peer.h"

namespace tiderace::net {
namespace {

struct Action {
    const char* name;
    std::function<void(Connection&)> act;
};

const std::vector<Action>& actions() {
    static const std::vector<Action> all{
        {"close", [](Connection& c) { c.close(CloseReason::aborted); }},
        {"finish", [](Connection& c) { c.finish(); }},
        {"close_when_sent", [](Connection& c) { c.close_when_sent(); }},
        {"write_and_finish",
         [](Connection& c) {
             if (!c.finishing()) c.write("last");
             c.finish();
         }},
        {"write_and_close",
         [](Connection& c) {
             if (!c.finishing()) c.write("last");
             c.close(CloseReason::aborted);
         }},
        {"flush", [](Connection& c) { c.flush(); }},
        {"pause_reading", [](Connection& c) { c.set_reading(false); }},
        {"toggle_reading",
         [](Connection& c) {
             c.set_reading(false);
             c.set_reading(true);
         }},
        {"deliver_unread_later", [](Connection& c) { c.deliver_unread_later(); }},
        {"expire", [](Connection& c) { c.set_deadline(c.loop().now()); }},
        {"finish_then_close",
         [](Connection& c) {
             c.finish();
             c.close(CloseReason::aborted);
         }},
        {"finish_and_flush",
         [](Connection& c) {
             c.finish();
             c.flush();
         }},
    };
    return all;
}

constexpr const char* callbacks[] = {"open",     "data",  "drained", "peer_finished",
                                     "deadline", "drain", "close"};

class EveryCallback
    : public ::testing::TestWithParam<std::tuple<std::string, const char*, std::size_t>> {};

INSTANTIATE_TEST_SUITE_P(Actions, EveryCallback,
                         ::testing::Combine(::testing::Values("fake", "auto"),
                                            ::testing::ValuesIn(callbacks),
                                            ::testing::Range<std::size_t>(0, actions().size())),
                         [](const auto& combination) {
                             return std::get<0>(combination.param) + "_" +
                                    std::get<1>(combination.param) + "_" +
                                    actions()[std::get<2>(combination.param)].name;
                         });

void set_callback(testing::ScriptedSessions& sessions, std::string_view callback,
                  std::function<void(Connection&)> act) {
    // Some actions ask to be called again; a Session that always does so would loop for ever.
    act = [act = std::move(act), left = 5](Connection& connection) mutable {
        if (left-- > 0) act(connection);
    };
    // Half of what comes stays unread, and enough goes out to cross the marks.
    sessions.on_data = [act, callback](Connection& connection, ByteView data) {
        if (data.size() > 1 && !connection.finishing()) {
            connection.write(std::string(5'000, 'x'));
        }
        if (callback == "data") act(connection);
        return data.size() / 2;
    };
    sessions.on_deadline = [](Connection& connection) { connection.set_deadline(Instant::max()); };
    if (callback == "open") sessions.on_open = act;
    if (callback == "drained") sessions.on_drained = act;
    if (callback == "peer_finished") sessions.on_peer_finished = act;
    if (callback == "deadline") sessions.on_deadline = act;
    if (callback == "drain") sessions.on_drain = act;
    if (callback == "close") {
        sessions.on_close = [act](Connection& connection, CloseReason) { act(connection); };
    }
}

// Takes a connection through everything that can happen to it.
void live(testing::World& world, TcpServer& server, testing::Peer& peer) {
    world.settle();
    peer.say("one two three four");
    world.settle();
    world.advance(1s);
    peer.say("five six");
    world.settle();
    server.drain(world.loop().now() + 1h, [] {});
    world.settle();
    peer.say("seven");
    peer.finish();
    world.settle();
    world.advance(10s);
    server.abort_all();
    world.settle();
}

TEST_P(EveryCallback, MayDoAnythingToItsConnection) {
    const auto& [name, callback, action] = GetParam();
    const auto world = testing::make_world(name);
    testing::ScriptedSessions sessions;
    set_callback(sessions, callback, actions()[action].act);
    TcpServer server(world->loop(), sessions,
                     {.connection = {.queue_bytes_high = 4'000, .queue_bytes_low = 1'000}});
    server.listen(world->listen());
    const auto peer = world->connect();
    live(*world, server, *peer);
    EXPECT_EQ(sessions.opened, 1);
    EXPECT_EQ(sessions.closed.size(), 1U);
    EXPECT_EQ(server.size(), 0U);
    EXPECT_EQ(world->loop().blocks().taken(), 0U);
}

TEST_P(EveryCallback, MayDoAnythingOverAPipeToo) {
    const auto& [name, callback, action] = GetParam();
    const auto world = testing::make_world(name);
    testing::ScriptedSessions sessions;
    set_callback(sessions, callback, actions()[action].act);
    TcpServer server(world->loop(), sessions,
                     {.connection = {.queue_bytes_high = 4'000, .queue_bytes_low = 1'000}});
    testing::Pipe pipe = testing::make_pipe(world->loop(), {.capacity = 700});
    server.adopt(std::move(pipe.near), core::Address::loopback(1));
    testing::TransportPeer peer(world->loop(), std::move(pipe.far));
    live(*world, server, peer);
    EXPECT_EQ(sessions.closed.size(), 1U);
    EXPECT_EQ(server.size(), 0U);
}

}  // namespace
}  // namespace tiderace::net

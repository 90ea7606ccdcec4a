// Internal. TcpServer: the connections of one loop, from accept to close, over any protocol.
//
// Owner    Its creator, on the loop's thread; it must outlive the loop's last turn.
// Thread   Its loop's. Other threads post to the loop and find connections by id.
// Limits   connections_max, and what `room` has for all servers together: above either, idle ones
//          of the client that has most here make way (core/budget.h defines a client), among the
//          clients with idle ones; if none has more than the newcomer's own, the newcomer is
//          sent `refusal` and closed.
// Memory   A slot of about 220 bytes a connection, kept for reuse.
// Keywords: drain, connections, graceful shutdown
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/slot_map.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/budget.h"
#include "tiderace/net/acceptor.h"
#include "tiderace/net/connection.h"
#include "tiderace/net/connection_room.h"

namespace tiderace::net {

// Makes the protocol for each new connection. Sessions end themselves in on_close.
class SessionFactory {
  public:
    virtual Session& make_session(Connection& connection) = 0;

  protected:
    ~SessionFactory() = default;
};

struct TcpServerOptions {
    ConnectionLimits connection;
    std::size_t connections_max = 10'000;
    std::shared_ptr<ConnectionRoom> room;  // shared with other servers; may be null
    std::string refusal;  // sent as one packet to a connection above the maximum; "" for nothing
};

// Written by the server's loop alone, and read by any thread.
struct TcpServerCounters {
    using Count = std::atomic<std::uint64_t>;

    Count opened = 0;
    Count refused = 0;  // above connections_max, or for lack of room
    std::array<Count, static_cast<std::size_t>(CloseReason::count_)> closed{};  // by reason

    // No other thread writes it, so that a plain store will do.
    static void add_one(Count& count) {
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
};

class TcpServer final : private Connection::Owner, private core::SendHolder {
  public:
    TcpServer(core::EventLoop& loop, SessionFactory& sessions, TcpServerOptions options);
    ~TcpServer();

    // Starts accepting from an open listening socket. With a layer, every connection goes through
    // it; the layer outlives this server.
    void listen(core::Descriptor listener, TransportLayer* layer = nullptr,
                std::uint64_t name = 0) TR_ON_LOOP;
    // Of a listening socket with this name: takes the connections that wait there, and closes it a
    // moment later: a handshake that is under way would end in a reset.
    void stop_listening(std::uint64_t name) TR_ON_LOOP;
    // For connections and deadlines that begin from now on, and for the sockets that listen.
    void change(const ConnectionLimits& limits, int backlog,
                std::size_t connections_max) TR_ON_LOOP;
    // Takes a connected socket, or another transport, as if it had been accepted.
    void adopt(int fd, const core::Address& peer, TransportLayer* layer = nullptr) TR_ON_LOOP;
    // nullptr: no memory for it; it is closed.
    Connection* adopt(std::unique_ptr<Transport> transport, const core::Address& peer) TR_ON_LOOP;
    // Sends `refusal` (nothing through a layer, whose peer could not read it) and closes.
    void refuse(int fd, const TransportLayer* layer = nullptr) TR_ON_LOOP;

    // Stops accepting, notifies every session, and calls `done` once when the last connection is
    // gone; those still there at `deadline` are aborted.
    void drain(Instant deadline, unique_function<void()> done) TR_ON_LOOP;
    // Ends all connections at once.
    void abort_all() TR_ON_LOOP;

    Connection* find(ConnectionId id) { return connections_.find(id); }
    std::size_t size() const { return connections_.size(); }
    const TcpServerCounters& counters() const { return *counters_; }
    // For metrics, which may outlive it.
    std::shared_ptr<const TcpServerCounters> shared_counters() const { return counters_; }
    bool draining() const { return draining_; }

  private:
    class DrainTimer;
    class Entrance;

    core::EventLoop& loop() override { return *loop_; }
    const ConnectionLimits& limits() const override { return options_.connection; }
    void release(Connection& connection, CloseReason reason) TR_ON_LOOP override;
    bool enter();
    void leave();
    bool make_way_for(const core::Address& newcomer) TR_ON_LOOP;
    // One that has entered.
    Connection* begin(std::unique_ptr<Transport> transport, const core::Address& peer) TR_ON_LOOP;
    std::unique_ptr<Transport> make_transport(int fd, TransportLayer* layer) TR_ON_LOOP;
    void finish_drain_if_empty() TR_ON_LOOP;
    std::vector<Holding> holdings() TR_ON_LOOP override;
    void give_up(std::uint64_t id) TR_ON_LOOP override;

    core::EventLoop* loop_;
    SessionFactory* sessions_;
    TcpServerOptions options_;
    std::shared_ptr<TcpServerCounters> counters_ = std::make_shared<TcpServerCounters>();
    std::vector<std::unique_ptr<Entrance>> entrances_;
    SlotMap<Connection> connections_;
    std::unique_ptr<DrainTimer> drain_timer_;
    unique_function<void()> drained_;
    // For some that make way; until then newcomers of these clients are refused, and all where
    // they are many.
    Instant look_again_ = Instant::min();
    std::vector<core::ClientKey> turned_away_;
    std::size_t places_to_come_ = 0;  // at the end of this turn, and for no newcomer yet
    bool draining_ = false;
};

}  // namespace tiderace::net

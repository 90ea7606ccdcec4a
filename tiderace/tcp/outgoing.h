// Internal. Outgoing: the connections that the tasks of one loop opened, each for as long as it has
// something to send, which may be longer than what its task held.
//
// Owner    The runner's locals: `runner.local<Outgoing>()`.
// Thread   The loop's.
#pragma once

#include <memory>
#include <utility>

#include "tiderace/base/slot_map.h"
#include "tiderace/net/connection.h"
#include "tiderace/task/runner.h"
#include "tiderace/tcp/dial.h"

namespace tiderace::tcp {

class Outgoing final : private net::Connection::Owner {
  public:
    explicit Outgoing(task::Runner& runner) : loop_(&runner.loop()) {}
    // What used them ended with its task; connections that remain are still taking leave.
    ~Outgoing();

    // `kept` ends after the connection: what its session uses.
    net::Connection& add(Dialed&& made, std::shared_ptr<void> kept = nullptr);
    // Not one that has another by now.
    void close(net::ConnectionId id);

  private:
    struct Line {
        Line(SlotId id, Outgoing& owner, Dialed&& made, std::shared_ptr<void> used)
            : layer(std::move(made.layer)),
              kept(std::move(used)),
              connection(id, owner, std::move(made.transport), std::move(made.peer)) {}
        std::shared_ptr<ClientLayer> layer;  // ends after the transport that it wrapped
        std::shared_ptr<void> kept;
        net::Connection connection;
    };

    core::EventLoop& loop() override { return *loop_; }
    const net::ConnectionLimits& limits() const override { return limits_; }
    void release(net::Connection& connection, net::CloseReason) override {
        connections_.erase(connection.id());
    }

    core::EventLoop* loop_;
    net::ConnectionLimits limits_;
    SlotMap<Line> connections_;
};

}  // namespace tiderace::tcp

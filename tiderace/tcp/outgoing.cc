#include "tiderace/tcp/outgoing.h"

namespace tiderace::tcp {

Outgoing::~Outgoing() {
    loop_->assert_on_loop();
    while (connections_.size() > 0) {
        connections_.for_each([](SlotId, Line& line) {
            line.connection.loop().assert_on_loop();
            line.connection.close(net::CloseReason::server_stopped);
        });
        // A closed connection is destroyed at the end of a turn.
        loop_->turn(Duration::zero());
    }
    loop_->turn(Duration::zero());  // for what their transports left to a turn's end
}

net::Connection& Outgoing::add(Dialed&& made, std::shared_ptr<void> kept) {
    return connections_.emplace(*this, std::move(made), std::move(kept)).connection;
}

void Outgoing::close(net::ConnectionId id) {
    Line* const line = connections_.find(id);
    if (line == nullptr) return;
    loop_->assert_on_loop();
    line->connection.close(net::CloseReason::aborted);
}

}  // namespace tiderace::tcp

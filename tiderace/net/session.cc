#include "tiderace/net/session.h"

#include "tiderace/net/connection.h"

namespace tiderace::net {

void Session::on_peer_finished(Connection& connection) {
    connection.close_when_sent();
}
void Session::on_deadline(Connection& connection) {
    connection.close(CloseReason::deadline_expired);
}
// Most protocols can stop between two messages, and a quiet connection has none in progress.
void Session::on_drain(Connection& connection) {
    connection.close_when_quiet();
}

}  // namespace tiderace::net

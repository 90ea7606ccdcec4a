#include "tiderace/tcp/server.h"

namespace tiderace::tcp {

int Server::run() const {
    return run_server(listen_, options_, [this](task::Runner& runner, const task::States& states) {
        return std::make_unique<Peers>(runner, states, callbacks_, options_);
    });
}

net::Session& Peers::make_session(net::Connection& connection) {
    connection.loop().assert_on_loop();
    if (options_.socket != net::SocketOptions{}) connection.tune(options_.socket);
    auto* peer = new Peer(connection, *callbacks_, *runner_, *states_,
                          options_.stream.receive_bytes_per_second_min);
    peer->accepted();
    return *peer;
}

}  // namespace tiderace::tcp

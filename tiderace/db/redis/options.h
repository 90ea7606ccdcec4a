// Options: how a Redis server is used by each loop.
#pragma once

#include <cstddef>

#include "tiderace/base/units.h"
#include "tiderace/db/options.h"
#include "tiderace/tcp/security.h"

namespace tiderace::db::redis {

struct Options {
    // TLS for rediss://, such as a tcp::ClientTls, which outlives the client.
    const tcp::ClientSecurity* security = nullptr;

    // Commands of a loop that were sent and are not answered, or that wait for the connection; one
    // more fails at once (Error{busy}).
    std::size_t commands_max = 16'384;
    // Bytes of commands that were not sent yet, on one connection, and of all that wait for one;
    // above it a command fails at once (Error{busy}).
    std::size_t unsent_bytes_max = 64_MiB;
    // One command waits this long for the connection (Error{connection_lost}).
    Duration waiting_timeout = db::Options{}.waiting_timeout;
    // A server that answers nothing for this long is given up, with all commands that were sent
    // (Error{timeout} for commands that only read, Error{unknown_outcome} for the others).
    Duration command_timeout = 5s;
    Duration connect_timeout = db::Options{}.connect_timeout;
    // The pause after a failed connection doubles from the first to the second, a little random.
    Duration reconnect_pause = db::Options{}.reconnect_pause;
    Duration reconnect_pause_max = db::Options{}.reconnect_pause_max;

    // Connections of a loop for transactions and blocking commands, and tasks that wait for one.
    std::size_t connections_max = db::Options{}.connections_max;
    std::size_t waiting_max = db::Options{}.waiting_max;
    // One of these that was idle for this long is pinged before it is used.
    Duration check_after = db::Options{}.check_after;

    // For one reply; a larger one is Error{row} and ends the connection: other commands on it are
    // sent again if they only read, or are Error{unknown_outcome}.
    std::size_t reply_bytes_max = 64_MiB;
    std::size_t reply_depth_max = 16;
    // In a cluster: servers that a loop has a connection to.
    std::size_t nodes_max = 64;
    // The messages that a subscription keeps for a slow reader; above either the oldest are
    // dropped, and the next Message has their number.
    std::size_t messages_max = 1'024;
    std::size_t message_bytes_max = 16_MiB;
    // A subscription that receives nothing for this long pings the server; after another such
    // silence its connection is made anew.
    Duration silence_max = 30s;
};

}  // namespace tiderace::db::redis

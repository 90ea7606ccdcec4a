// Internal. Intake: takes the connections of listening sockets in place of the loops that will
// serve them, and decides which of them gets each.
//
// Owner    The program. Outlives its loop's last turn; the servers' loops run while it accepts.
// Thread   The loop's that it listens on.
// Limits   IntakeOptions; above them a connection is sent `refusal` and closed, or left to the
//          kernel's queue.
#pragma once

#include <cstdint>

#include "tiderace/core/event_loop.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::net {

class Intake {
  public:
    // A server that may be given connections.
    struct Target {
        core::EventLoop* loop;
        TcpServer* server;
        TransportLayer* layer = nullptr;  // what listen_layered() puts on its connections
    };

    virtual ~Intake() = default;

    virtual void listen(core::Descriptor listener) TR_ON_LOOP = 0;
    // Its connections go through each target's own layer.
    virtual void listen_layered(core::Descriptor listener) TR_ON_LOOP = 0;
    // Closes the listening sockets, after accepting what waits in the kernel's queue.
    virtual void stop() TR_ON_LOOP = 0;
    // Connections that were refused.
    virtual std::uint64_t refused() const = 0;
};

struct IntakeOptions {
    std::size_t waiting_max = 1024;      // accepted and not yet taken over
    std::size_t connections_max = 1024;  // in all: taken over and waiting
    std::string refusal;                 // sent to one above; "" for nothing
};

}  // namespace tiderace::net

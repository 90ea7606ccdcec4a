// Listening sockets: opened, with the options a server wants and errors that say what to do.
//
//   bind_listener() -> the address is had, nobody is let in
//       -> start_listening(), or share_listener(): one socket, or several, once it can be served
//
// Of several servers that start at once one gets the port, and all others the error: bound sockets
// may share an address until one of them listens, and a first one listens as its only owner before
// it shares with its own.
//
// Thread   Any.
// Errors   Name the address and say what to do: the port is taken, or needs a privilege, …
#pragma once

#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/core/address.h"
#include "tiderace/core/kernel.h"

namespace tiderace::net {

struct ListenOptions {
    int backlog = 4096;  // the kernel caps it at net.core.somaxconn
    bool reuse_port =
        false;  // several sockets on one address; the kernel spreads connections over them
    // How long a port in use is asked for again: a server that has just ended may hold it for some
    // milliseconds.
    Duration in_use_retry{};
};

// False where a shared port's last socket is given every connection (macOS, NetBSD, OpenBSD): there
// several loops listen with one socket.
bool shared_ports_are_spread();

// Bound, and listening at once. Accepted sockets inherit TCP_NODELAY. An IPv6 "any" address takes
// IPv4 too, and is IPv4's alone on a machine without IPv6. A Unix socket's file that nobody listens
// on any more is replaced; a file that is no socket never is.
Result<core::Descriptor> open_listener(core::Kernel& kernel, const core::Address& address,
                                       const ListenOptions& options);
// The same, but a TCP socket does not listen yet. A Unix socket does: one that is bound only looks
// like one that was left behind, and the next server would take its name.
Result<core::Descriptor> bind_listener(core::Kernel& kernel, const core::Address& address,
                                       const ListenOptions& options);
Result<> start_listening(core::Kernel& kernel, const core::Descriptor& bound, int backlog);
// `count` sockets that listen at the address of `bound`, which is the first of them; the kernel
// spreads connections over them. TCP only, and where shared_ports_are_spread().
Result<std::vector<core::Descriptor>> share_listener(core::Kernel& kernel, core::Descriptor bound,
                                                     std::size_t count, int backlog);
// Where a listener really is: the port that the kernel chose for port 0.
core::Address local_address(core::Kernel& kernel, const core::Descriptor& listener);

}  // namespace tiderace::net

// Listening sockets: opened, with the options a server wants and errors that say what to do.
//
// Thread   Any.
// Errors   Name the address and say what to do: the port is taken, or needs a privilege, …
#pragma once

#include "tiderace/base/result.h"
#include "tiderace/core/address.h"
#include "tiderace/core/kernel.h"

namespace tiderace::net {

struct ListenOptions {
    int backlog = 4096;  // the kernel caps it at net.core.somaxconn
    bool reuse_port =
        false;  // several sockets on one address; the kernel spreads connections over them
};

// False where a shared port's last socket is given every connection (macOS, NetBSD, OpenBSD): there
// several loops listen with one socket.
bool shared_ports_are_spread();

// Accepted sockets inherit TCP_NODELAY. An IPv6 "any" address takes IPv4 too, and is IPv4's alone
// on a machine without IPv6. A Unix socket's file that nobody listens on any more is replaced; a
// file that is no socket never is.
Result<core::Descriptor> open_listener(core::Kernel& kernel, const core::Address& address,
                                       const ListenOptions& options);
// Where a listener really is: the port that the kernel chose for port 0.
core::Address local_address(core::Kernel& kernel, const core::Descriptor& listener);

}  // namespace tiderace::net

// Listening sockets: opened, with the options a server wants and errors that name the remedy.
//
//   bind_listener() -> the address is taken, connections are not accepted
//       -> start_listening(), or share_listener(): one socket, or several, once it can be served
//
// When several servers start at once, one gets the port and the others the error: bound sockets
// may share an address until one of them listens, and the first one listens alone before it shares
// with its own.
//
// Thread   Any.
// Errors   They name the address and the remedy: the port is taken, or needs a privilege, …
// Keywords: SO_REUSEPORT, SO_REUSEADDR, backlog, bind, TCP_NODELAY, IPV6_V6ONLY, socket activation
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/core/address.h"
#include "tiderace/core/kernel.h"
#include "tiderace/net/folder_lock.h"
#include "tiderace/net/serving_defaults.h"

namespace tiderace::net {

struct ListenOptions {
    int backlog = ServingDefaults::backlog;  // the kernel caps it at net.core.somaxconn
    bool reuse_port =
        false;  // several sockets on one address; the kernel spreads connections over them
    // How long to retry a port in use: a server that has just ended may hold it for some
    // milliseconds.
    Duration in_use_retry{};
    // How long to wait for the lock of a Unix socket's folder, which servers that start there hold
    // for a moment. Any other program that may open the folder can also hold it.
    Duration folder_lock_wait = folder_lock_wait_default;
};

// False on systems that give every connection to a shared port's last socket (macOS, NetBSD,
// OpenBSD): there several loops listen with one socket.
bool shared_ports_are_spread();

// Bound, and listening at once. Accepted sockets inherit TCP_NODELAY. An IPv6 "any" address takes
// IPv4 too, and is IPv4's alone on a machine without IPv6. A Unix socket's file without a listener
// is replaced; a file that is no socket never is.
Result<core::Descriptor> open_listener(core::Kernel& kernel, const core::Address& address,
                                       const ListenOptions& options);
// The same, but it does not listen yet.
Result<core::Descriptor> bind_listener(core::Kernel& kernel, const core::Address& address,
                                       const ListenOptions& options);
Result<> start_listening(core::Kernel& kernel, const core::Descriptor& bound, int backlog);
// `count` sockets that listen at the address of `bound`, the first of them; the kernel spreads
// connections over them. TCP only, and only if shared_ports_are_spread().
Result<std::vector<core::Descriptor>> share_listener(core::Kernel& kernel, core::Descriptor bound,
                                                     std::size_t count, int backlog);
// The sockets that systemd listens on for this process (LISTEN_FDS, sd_listen_fds(3)). Once: the
// first caller gets them.
std::vector<core::Descriptor> inherited_listeners(core::Kernel& kernel);
// The real address of a listener: with the port that the kernel chose for port 0.
core::Address local_address(core::Kernel& kernel, const core::Descriptor& listener);

}  // namespace tiderace::net

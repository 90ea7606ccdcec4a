// Internal. dial_server: the way to a server: TCP, through a proxy where there is one, TLS for
// https. Tunnel: a transport through an HTTP proxy (CONNECT, RFC 9110, 9.3.6).
//
//   TLS -> Tunnel -> TCP to the proxy        what is sent waits for the proxy's 2xx
//
// Owner    As every transport.
// Thread   The loop's.
// Errors   An answer other than 2xx, or none: `refusal`, and on_receive_failed(-ECONNREFUSED).
// Limits   An answer of 16 KiB.
// Keywords: CONNECT, proxy
#pragma once

#include <memory>
#include <string>

#include "tiderace/http/client/client_fault.h"
#include "tiderace/http/client/proxy.h"
#include "tiderace/net/transport.h"
#include "tiderace/task/task.h"
#include "tiderace/tcp/dial.h"

namespace tiderace::http {

struct TunnelOptions {
    std::string place;                     // "example.org:443"
    std::string authorization;             // of Proxy-Authorization; "" for none
    std::shared_ptr<std::string> refusal;  // set to what the proxy answered, if it refuses
};

std::unique_ptr<net::Transport> make_tunnel(core::BlockPool& blocks,
                                            std::unique_ptr<net::Transport> below,
                                            const TunnelOptions& options);

struct ServerWay {
    bool secure = false;
    std::string host;              // which the certificate must be for
    std::string place;             // "example.org:443"
    std::string to;                // dialled instead of `place`, without a proxy; "": that
    const Proxy* proxy = nullptr;  // nullptr: none
    bool tunnels = false;          // through the proxy; or the requests are the proxy's
    const tcp::ClientSecurity* security = nullptr;     // nullptr: no TLS
    Duration timeout = tcp::ConnectOptions{}.timeout;  // to the open connection
    // Where the proxy's refusal will be written, before the connection closes.
    std::shared_ptr<std::string> refusal = std::make_shared<std::string>();
};

// The proxy and the security outlive the call.
task::Task<ClientResult<tcp::Dialed>> dial_server(task::Runner& runner, ServerWay way);

}  // namespace tiderace::http

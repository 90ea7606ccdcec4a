// Tunnel: a transport through an HTTP proxy (CONNECT, RFC 9110, 9.3.6).
//
//   TLS -> Tunnel -> TCP to the proxy        what is sent waits for the proxy's 2xx
//
// Owner    As every transport.
// Thread   The loop's.
// Errors   An answer other than 2xx, or none: `refusal`, and on_receive_failed(-ECONNREFUSED).
// Limits   An answer of 16 KiB.
#pragma once

#include <memory>
#include <string>

#include "tiderace/net/transport.h"

namespace tiderace::http {

struct TunnelOptions {
    std::string place;                     // "example.org:443"
    std::string authorization;             // of Proxy-Authorization; "" for none
    std::shared_ptr<std::string> refusal;  // set to what the proxy answered, if it refuses
};

std::unique_ptr<net::Transport> make_tunnel(core::BlockPool& blocks,
                                            std::unique_ptr<net::Transport> below,
                                            const TunnelOptions& options);

}  // namespace tiderace::http

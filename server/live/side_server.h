// SideServer: HTTP/1.1 on the first loop for operators of the server: the admin socket, and
// the listener of metrics. Its connections are no site's and are not counted.
//
// Owner    The object that answers; it ends before the loop.
// Thread   The first loop's.
// Limits   connections_max, above which 503 is answered; a connection that asks nothing is closed
//          after some seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/base/result.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/kernel.h"
#include "tiderace/http/handler.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/serve/http_loop.h"

namespace tiderace::server {

class SideServer final {
  public:
    static constexpr std::size_t connections_max = 16;

    SideServer(core::EventLoop& loop, http::Handler& handler);

    // Clients of a bound socket connect from now on, and wait.
    static Result<> start(const core::Descriptor& socket);
    // Accepts from a socket that was started. The socket of an earlier call is closed.
    void listen(core::Descriptor socket);
    void stop_listening();
    void drain(Instant deadline, unique_function<void()> done);

  private:
    http::SiteLoop site_;
    serve::HttpLoop http_;
    net::TcpServer server_;
    std::uint64_t listening_ = 0;  // the name of the socket
};

// No cache keeps it.
void answer(http::Exchange& exchange, int status, std::string_view type, std::string text);
void refuse_method(http::Exchange& exchange, std::string_view allowed);

}  // namespace tiderace::server

// AdminSocket: HTTP/1.1 on a Unix socket for the person who runs the server, on the first loop.
//
//   POST /reload      reads the configuration again: 200, or 409 where it was refused, and the
//                     problems as lines
//   GET /status       ServerStatus as JSON;  GET /status.txt  as lines
//   GET /top          its numbers, an empty line, and its lines
//   GET /metrics      MetricsPage, where requests are counted
//
//   bind() --serve()--> serves --drain()--> the name is gone, open requests end
//
// The permissions of the socket's file decide who may connect. The file has them from its first
// moment on.
//
// Owner    Assembly. It ends after the Reloader, which answers through it, and before the loops.
// Thread   bind(): before there are threads. Then the first loop's.
// Errors   bind(): another server listens there, another user's socket or another file is there.
// Limits   SideServer's, and reloads_waiting_max, above which 503 is answered.
// Keywords: control socket, tiderace reload, tiderace status
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/live/metrics_page.h"
#include "server/live/reloader.h"
#include "server/live/side_server.h"
#include "server/live/status.h"
#include "server/worker.h"
#include "tiderace/base/result.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/handler.h"
#include "tiderace/net/listening.h"

namespace tiderace::server {

class AdminSocket final : private http::Handler {
  public:
    static constexpr std::size_t reloads_waiting_max = 64;

    struct Parts {
        std::vector<Worker*> workers;
        const net::Listening* listening;
        Reloader* reloader;
        const MetricsPage* metrics;
    };
    static Result<std::unique_ptr<AdminSocket>> bind(const std::string& path, std::uint32_t mode,
                                                     net::SocketName::Remover remover = {});
    // Removes the name.
    ~AdminSocket();
    AdminSocket(const AdminSocket&) = delete;
    AdminSocket& operator=(const AdminSocket&) = delete;

    Result<> serve(Parts parts);
    // Calls `done` when nothing is answered any more.
    void drain(Instant deadline, unique_function<void()> done);

  private:
    AdminSocket(core::Descriptor socket, std::optional<net::SocketName> name,
                net::SocketName::Remover remover)
        : socket_(std::move(socket)), name_(std::move(name)), remover_(std::move(remover)) {}

    void handle(http::Exchange& exchange) override;
    void reload(http::Exchange& exchange);
    ServerStatus status() const;
    void remove_name();

    core::Descriptor socket_;              // until serve()
    std::optional<net::SocketName> name_;  // nullopt: it is removed
    net::SocketName::Remover remover_;
    Parts parts_ = {};
    Instant started_{};
    std::size_t reloads_waiting_ = 0;
    std::optional<SideServer> server_;
};

}  // namespace tiderace::server

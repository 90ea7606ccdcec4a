// AdminSocket: HTTP/1.1 on a Unix socket for the person who runs the server, on the first loop.
//
//   POST /reload      reads the configuration again: 200, or 409 where it was refused, and the
//                     problems as lines
//   GET /status       ServerStatus as JSON;  GET /status.txt  as lines
//   GET /top          its numbers, an empty line, and its lines
//   GET /metrics      MetricsPage, where requests are counted
//
//   bind() --listen()--> clients wait --take()--> serves --drain()--> the name is gone, open
//                                                                      requests end
//
// Another reading may move, open or close the socket: connections that came through it go on. The
// permissions of the socket's file decide who may connect. The file has them before it listens.
//
// Owner    Assembly. It ends after the Reloader, which answers through it, and before the loops.
// Thread   bind(): any. Then the first loop's.
// Errors   bind(): another server listens there, another user's socket or another file is there.
//          listen(): the permissions cannot be changed: the file is gone, or belongs to root.
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
    // [admin] of one reading. Its end removes the name.
    struct Bound {
        std::string path = {};  // "": there is none
        std::uint32_t mode = 0600;
        core::Descriptor socket = {};              // none: the one of before, or none
        std::optional<net::SocketName> name = {};  // of the socket
        net::SocketName::Remover where_we_may_not = {};

        ~Bound() { remove_name(); }
        void remove_name();
    };
    // `now` is the path where it listens.
    static Result<std::shared_ptr<Bound>> bind(const ServeOptions& wanted,
                                               const std::string& now = {},
                                               net::SocketName::Remover remover = {});

    explicit AdminSocket(Parts parts);
    // Listens, so that clients connect, and wait; or changes the permissions of the one that stays.
    Result<> listen(const Bound& next) const;
    // Serves these, and closes the socket of before, if it is another.
    void take(std::shared_ptr<Bound> next);
    // Calls `done` when nothing is answered any more.
    void drain(Instant deadline, unique_function<void()> done);

  private:
    void handle(http::Exchange& exchange) override;
    void reload(http::Exchange& exchange);
    ServerStatus status() const;

    Parts parts_;
    Instant started_;
    std::size_t reloads_waiting_ = 0;
    std::shared_ptr<Bound> bound_ = std::make_shared<Bound>();
    SideServer server_;
};

}  // namespace tiderace::server

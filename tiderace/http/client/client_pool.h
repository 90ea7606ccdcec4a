// Internal. ClientPool: the connections of one client: kept between requests, limited for each
// server and in all. A request that finds none free waits in a queue, first come, first served.
//
// A connection of HTTP/2 takes many requests at once. So where a server may speak it, connections
// are opened one after another, when those before are full; where it turns out not to, or an
// attempt fails, all that wait try at once. A server that requires HTTP/1.1 gets no more requests
// over HTTP/2, for as long as the pool knows it by fall_back().
//
// A request that failed on a kept connection does not use another idle one, which may be as stale.
// Such an idle connection is closed when it holds the place that a new one needs.
//
// Owner    A Client. It ends after the tasks that wait in take().
// Thread   The loop's.
// Errors   take(): busy, connect, tls.
// Limits   PoolLimits.
// Keywords: connection pool, keep-alive
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tiderace/http/client/client_connection.h"
#include "tiderace/http/client/client_fault.h"
#include "tiderace/http/client/client_metrics.h"
#include "tiderace/http/client/client_route.h"
#include "tiderace/http/client/proxy.h"
#include "tiderace/http/client/url.h"
#include "tiderace/task/task.h"
#include "tiderace/tcp/dial.h"

namespace tiderace::http {

struct PoolLimits {
    std::size_t connections_max = 256;         // of all servers
    std::size_t connections_per_host_max = 8;  // of one scheme, host, port and proxy
    std::size_t waiting_max = 4'096;           // requests that wait for one; above: busy
    std::size_t waiting_per_host_max = 1'024;  // of these, so that a slow host leaves places
    Duration idle = 30s;                       // then an unused one is closed; max(): never
    // From the name to the open connection.
    Duration connect_timeout = tcp::ConnectOptions{}.timeout;
};

struct PoolCounters {
    std::uint64_t opened = 0;
    std::uint64_t reused = 0;
    std::uint64_t waited = 0;
};

class ClientPool final {
  public:
    static constexpr std::size_t fallen_back_max = 256;  // servers; then all are forgotten

    // How TLS is made; both outlive the pool.
    struct Security {
        const tcp::ClientSecurity* any = nullptr;       // nullptr: no https
        const tcp::ClientSecurity* http_1_1 = nullptr;  // agrees on HTTP/1.1 alone; nullptr: none
    };

    // `to`: where all connections go, whatever the URL's host is; "": there.
    ClientPool(task::Runner& runner, const PoolLimits& limits, Security security,
               ClientVersions versions = ClientVersions::any, std::string to = {},
               std::shared_ptr<ClientCounts> counts = std::make_shared<ClientCounts>());
    ~ClientPool();
    ClientPool(const ClientPool&) = delete;
    ClientPool& operator=(const ClientPool&) = delete;

    // A connection on which begin() may be called before the task gives way. After a `stale` one,
    // by its number: none that may be as stale.
    task::Task<ClientResult<ClientConnection*>> take(const Url& url, const Proxy* proxy,
                                                     std::uint64_t stale = 0);
    // As take(), without a task, where a connection is ready; nullptr: none is.
    ClientConnection* take_at_once(const Url& url, const Proxy* proxy, std::uint64_t stale = 0);

    // The server requires HTTP/1.1, and gets nothing else from now on. False: it cannot be had.
    bool fall_back(const Url& url, const Proxy* proxy);
    void close_idle();
    std::size_t connections() const { return open_; }
    std::size_t idle() const;
    std::size_t waiting() const { return waiting_.size(); }
    PoolCounters counters() const {
        return {.opened = counts_->opened, .reused = counts_->reused, .waited = counts_->waited};
    }

  private:
    // The state of a route. Its connections report to it.
    struct Host final : ClientConnection::Observer {
        explicit Host(ClientPool& p) : pool(&p) {}
        void on_ready(ClientConnection& connection) override { pool->on_ready(*this, connection); }
        void on_gone(ClientConnection& connection) override { pool->on_gone(*this, connection); }

        ClientPool* pool;
        const ClientRoute* route = nullptr;    // its key
        std::size_t open = 0;                  // connections, and those that are being made
        std::size_t making = 0;                // of these: not settled yet
        std::size_t waiting = 0;               // requests in the queue
        bool one_by_one = false;               // it may speak HTTP/2
        std::vector<ClientConnection*> ready;  // idle ones, and all of HTTP/2; the latest last
    };
    class Waiting;
    class Place;
    static constexpr unsigned opened_without_room_max = 4;  // by one request

    void on_ready(Host& host, ClientConnection& connection);
    void on_gone(Host& host, ClientConnection& connection);
    Host* find(ClientRouteView route);
    ClientConnection* take_ready(ClientRouteView route, std::uint64_t stale);
    ClientConnection* take_at_once(ClientRouteView route, std::uint64_t stale);
    Host& known(const ClientRoute& route, const Url& url, const Proxy* proxy);
    bool has_ready(const Host& host) const;
    bool has_fallen_back(ClientRouteView route) const { return fallen_back_.contains(route); }
    bool may_open(const Host* host) const;
    const char* refusal(const Host& host) const;
    bool may_be_h2(ClientRouteView route, const Url& url, const Proxy* proxy) const;
    bool evict_idle();
    bool evict_idle_of(ClientRouteView route);
    void forget_if_unused(const ClientRoute& route);
    void count_places() {
        counts_->open = open_;
        counts_->waiting = waiting_.size();
    }
    void wake_next() {
        if (!waiting_.empty()) wake_first();
    }
    void wake_first();
    task::Task<ClientResult<ClientConnection*>> open(const ClientRoute& route, const Url& url,
                                                     const Proxy* proxy);

    task::Runner* runner_;
    std::weak_ptr<ClientConnections> all_;
    PoolLimits limits_;
    Security security_;
    ClientVersions versions_;
    std::string to_;
    std::map<ClientRoute, Host, ClientRouteOrder> hosts_;  // those with a connection, or waited for
    Host* last_found_ = nullptr;  // most requests go where the one before went
    std::set<ClientRoute, ClientRouteOrder> fallen_back_;
    std::size_t open_ = 0;
    std::vector<Waiting*> waiting_;
    std::shared_ptr<ClientCounts> counts_;
};

}  // namespace tiderace::http

// ClientMetrics: what the clients of a program count of their servers, on the page of
// App::metrics().
//
//   metrics::Registry& page = app.metrics("/metrics");
//   ClientMetrics upstreams(page);
//   app.state<Client>([&](core::EventLoop&) {
//       auto client = std::make_unique<Client>();
//       upstreams.add("payments", *client);              // all loops' are summed up
//       return client;
//   });
//
//   tiderace_upstream_connections_open, _opened_total, _reused_total
//   tiderace_upstream_queue_length                       requests that wait for a connection
//   tiderace_upstream_retries_total, _retry_budget_exhausted_total
//
// Owner    The program. What a client counted stays when the client or this object has ended.
// Thread   Any.
// Limits   A series for each name; names come from the program and never from a request.
// Keywords: Prometheus, connection pool, upstream
#pragma once

#include <memory>
#include <string>

#include "tiderace/base/loop_count.h"

namespace tiderace::metrics {
class Registry;
}

namespace tiderace::http {

class Client;

// The numbers of one client: written on its loop, read by any thread.
struct ClientCounts {
    LoopCount open;
    LoopCount waiting;
    LoopCount opened;
    LoopCount reused;
    LoopCount waited;
    LoopCount retries;
    LoopCount exhausted;  // would have been retried, if the budget had allowed
};

class ClientMetrics {
  public:
    explicit ClientMetrics(metrics::Registry& registry);

    // In its state's maker, say. Once for each client.
    void add(std::string upstream, const Client& client) const;

  private:
    struct Known;
    std::shared_ptr<Known> known_;
};

}  // namespace tiderace::http

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

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "tiderace/base/language.h"

namespace tiderace::metrics {
class Registry;
}

namespace tiderace::http {

class Client;

// The numbers of one client: written on its loop, read by any thread.
struct ClientCounts {
    using Count = std::atomic<std::uint64_t>;

    Count open = 0;
    Count waiting = 0;
    Count opened = 0;
    Count reused = 0;
    Count waited = 0;
    Count retries = 0;
    Count exhausted = 0;  // would have been retried, if the budget had allowed

    // No other thread writes it, so that a plain store will do.
    static void add_one(Count& count) { set(count, count.load(std::memory_order_relaxed) + 1); }
    static void set(Count& count, std::uint64_t value) {
        count.store(value, std::memory_order_relaxed);
    }
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

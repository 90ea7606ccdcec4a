// Internal. SiteMetrics: what is counted of a site's requests, on all loops. LoopMetrics: the part
// of one loop. ServerMetrics: what every server counts of itself, its connections and the process
// included.
//
//   SiteLoop --began(), count(record)--> LoopMetrics   plain stores into memory of the loop
//   page     --> SiteMetrics::add_to()   sums up the loops
//
//   tiderace_http_requests_total{site,route,method,code,protocol}
//   tiderace_http_requests_in_flight{site}
//   tiderace_http_request_duration_seconds{site,route}         to the last byte of the answer
//   tiderace_http_response_head_seconds{site,route}            to the first
//   tiderace_http_request_body_size_bytes, tiderace_http_response_body_size_bytes{site,route}
//   tiderace_http_request_body_bytes_total, tiderace_http_response_body_bytes_total{site}
//   tiderace_rate_limited_total, tiderace_auth_failures_total{site,route}
//   tiderace_http_request_refusals_total{reason}               a wire::Refusal
//   tiderace_loop_lag_seconds                                  how late a timer of a loop was
//   tiderace_loop_busy_ratio{loop}                             CPU time of its thread
//
// Labels come from the site and never from a request: `site` is the name of its host, `route` the
// pattern, both "" for what no endpoint answers (404, 405, what could not be read); `method` one of
// nine, or "other"; `code` a registered status, or "other". So no client makes a series.
//
// The buckets of durations have exemplars: requests with a sampled traceparent.
//
// Owner    ServerMetrics: the front, and the loops. LoopMetrics: SiteMetrics. LagProbe: the loop's.
// Thread   Any. LoopMetrics: its loop's.
// Errors   Without memory for a series' first request, its status is not counted.
// Limits   A route has its numbers for as long as a tree of any loop has the route
//          (SiteLoop::replace); one that comes back later counts from zero.
// Memory   For a loop 700 bytes a route, and 560 more for each of its methods and versions.
// Keywords: Prometheus, latency, RED
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/core/event_loop.h"
#include "tiderace/http/stages.h"
#include "tiderace/metrics/buckets.h"
#include "tiderace/metrics/exemplars.h"
#include "tiderace/metrics/page.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::http {

class Site;
class SiteMetrics;

class LoopMetrics final {
  public:
    explicit LoopMetrics(SiteMetrics& site);

    // A request began; the number goes down when it is answered or abandoned. nullptr: no endpoint.
    LoopCount& in_flight(const Matched* matched) { return route_of(matched).in_flight; }
    void count(const AccessRecord& record);
    void lag(Duration late);
    void busy(double part) { busy_.store(part, std::memory_order_relaxed); }
    // The number of each endpoint's series, until forget().
    std::vector<std::uint32_t> learn(const Site& site);
    void forget(std::span<const std::uint32_t> series);

  private:
    friend class SiteMetrics;

    static constexpr std::size_t methods = 10;
    static constexpr std::size_t versions = 3;
    static constexpr std::size_t statuses_max = 70;

    struct Statuses {
        std::array<LoopCount, statuses_max> counts{};
    };
    struct Route {
        LoopCount in_flight;
        std::array<std::array<std::atomic<Statuses*>, versions>, methods> statuses{};
        metrics::Durations durations;
        metrics::Durations heads;
        metrics::Sizes received;
        metrics::Sizes sent;
        std::array<LoopCount, static_cast<std::size_t>(wire::TurnedAway::count_)> turned_away{};
        std::atomic<metrics::Exemplars<metrics::Durations>*> exemplars = nullptr;
        metrics::Looks<metrics::Durations> looks;  // for traces
        ~Route();
    };

    Route& route_of(const Matched* matched);
    void keep_trace(Route& route, std::size_t bucket, const AccessRecord& record);
    const Route* route(std::size_t series) const {
        return series < routes_.size() ? routes_[series].get() : nullptr;
    }

    SiteMetrics* site_;
    // By series; nullptr: this loop has none. Changed under SiteMetrics::lock_.
    std::vector<std::unique_ptr<Route>> routes_;
    std::array<LoopCount, wire::refusals> refusals_{};
    metrics::Durations lags_;
    std::atomic<double> busy_ = -1;  // negative: not known yet, or on this system
};

class SiteMetrics final {
  public:
    // Of its histograms, whatever clients send.
    static constexpr std::size_t series_of_a_route =
        2 * metrics::Durations::series + 2 * metrics::Sizes::series;

    SiteMetrics();

    // It lives as long as this.
    LoopMetrics& add_loop();
    void add_to(metrics::Page& page) const;
    struct Requests {
        std::uint64_t in_flight = 0;
        std::map<std::string, std::uint64_t> answered = {};  // by site
    };
    Requests requests() const;

  private:
    friend class LoopMetrics;
    using Names = std::pair<std::string, std::string>;  // of the site, and the pattern
    struct Route {
        Names names;
        std::size_t users = 0;  // endpoints of the loops' trees; 0: free for another route
    };
    using Kind = LoopMetrics::Route;
    struct OfSite {
        std::size_t routes = 0;
        std::uint64_t received = 0, sent = 0;  // by routes that are no more
    };

    void add_requests(metrics::Page& page) const;
    void add_statuses(metrics::Page& page, std::size_t series, std::size_t method,
                      std::size_t version) const;
    template <typename Buckets>
    void add_histogram(metrics::Page& page, Buckets Kind::* member) const;
    template <typename NumberOf>
    std::uint64_t sum_of(std::size_t series, NumberOf number_of) const;
    template <typename NumberOf>
    std::map<std::string_view, std::uint64_t> by_site(NumberOf number_of) const;
    void add_turned_away(metrics::Page& page, wire::TurnedAway why) const;
    void add_body_bytes(metrics::Page& page, metrics::Sizes Kind::* member,
                        std::uint64_t OfSite::* before) const;
    void add_refusals(metrics::Page& page) const;

    std::uint32_t series_of(Names names);
    void keep_bytes_of(std::uint32_t series);

    std::array<std::uint8_t, 500> status_index_{};  // from 100 on; 0: "other"
    std::vector<int> statuses_{0};                  // by that index
    mutable std::mutex lock_;                       // for what follows
    std::vector<Route> routes_;                     // by series; the first: of none
    std::map<Names, std::uint32_t> known_;
    std::map<std::string, OfSite> sites_;
    std::vector<std::uint32_t> free_;
    std::vector<std::unique_ptr<LoopMetrics>> loops_;
};

class ServerMetrics {
  public:
    LoopMetrics& add_loop() { return site_.add_loop(); }
    void add_server(std::shared_ptr<const net::TcpServerCounters> counters);
    const SiteMetrics& site() const { return site_; }
    // `build` has the labels of tiderace_build_info behind the version.
    void add_to(metrics::Page& page, const metrics::Labels& build = {}) const;

  private:
    void add_connections(metrics::Page& page) const;

    SiteMetrics site_;
    mutable std::mutex lock_;  // of servers_
    std::vector<std::shared_ptr<const net::TcpServerCounters>> servers_;
};

// Measures how late the loop's timers are, and its thread's CPU time, four times a second.
class LagProbe final : private core::Timer {
  public:
    LagProbe(core::EventLoop& loop, LoopMetrics& metrics);
    ~LagProbe() override;

  private:
    static constexpr Duration period = 250ms;

    void arm();
    void on_expired() override;
    void measure_cpu();

    core::EventLoop* loop_;
    LoopMetrics* metrics_;
    Instant due_{};
    Instant looked_at_{};  // when cpu_before_ was; none: never
    Duration cpu_before_{};
};

}  // namespace tiderace::http

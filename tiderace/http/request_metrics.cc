#include "tiderace/http/request_metrics.h"

#include <algorithm>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/site.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/http/wire/status.h"
#include "tiderace/metrics/process.h"
#include "tiderace/net/close_reason.h"
#include "tiderace/version.h"

namespace tiderace::http {
namespace {

// Nanoseconds: OpenTelemetry's bounds (metrics::Histogram::durations()).
constexpr auto duration_bounds =
    std::to_array<std::uint64_t>({5'000'000, 10'000'000, 25'000'000, 50'000'000, 75'000'000,
                                  100'000'000, 250'000'000, 500'000'000, 750'000'000, 1'000'000'000,
                                  2'500'000'000, 5'000'000'000, 7'500'000'000, 10'000'000'000});
constexpr auto size_bounds = std::to_array<std::uint64_t>(
    {0, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000});

// One thread writes it, so a plain addition would do; others read it.
void add(std::atomic<std::uint64_t>& cell, std::uint64_t n) {
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

template <typename Buckets, std::size_t size>
void observe(Buckets& buckets, const std::array<std::uint64_t, size>& bounds, std::uint64_t value) {
    static_assert(std::tuple_size_v<decltype(buckets.counts)> == size + 1);
    std::size_t i = 0;
    while (i < size && value > bounds[i]) ++i;
    add(buckets.counts[i], 1);
    add(buckets.sum, value);
}

std::uint64_t nanoseconds(Duration duration) {
    const auto all = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
    return all > 0 ? static_cast<std::uint64_t>(all) : 0;
}

std::string_view name_of(std::size_t method) {
    const std::string_view known = wire::to_string(static_cast<wire::Method>(method));
    return known.empty() ? "other" : known;
}

constexpr std::array<std::string_view, 3> protocols{"1.0", "1.1", "2"};

}  // namespace

LoopMetrics::LoopMetrics(SiteMetrics& site) : site_(&site) {
    routes_.push_back(std::make_unique<Route>());
}

std::vector<std::uint32_t> LoopMetrics::learn(const Site& site) {
    std::vector<std::uint32_t> all;
    const std::lock_guard held(site_->lock_);
    for (const Site::Endpoint& endpoint : site.endpoints()) {
        const std::uint32_t series = site_->series_of(
            {site.host_name(site.scopes()[endpoint.scope].host), endpoint.pattern});
        ++site_->routes_[series].users;
        if (routes_.size() <= series) routes_.resize(series + 1);
        if (routes_[series] == nullptr) routes_[series] = std::make_unique<Route>();
        all.push_back(series);
    }
    return all;
}

void LoopMetrics::forget(std::span<const std::uint32_t> all) {
    const std::lock_guard held(site_->lock_);
    for (const std::uint32_t series : all) {
        SiteMetrics::Route& route = site_->routes_[series];
        if (--route.users > 0) continue;
        // No loop has a tree that counts here, so none of them looks at this place.
        for (const auto& loop : site_->loops_) {
            if (series < loop->routes_.size()) loop->routes_[series].reset();
        }
        site_->known_.erase(route.names);
        site_->free_.push_back(series);
    }
}

LoopMetrics::Route::~Route() {
    for (auto& of_method : statuses) {
        for (std::atomic<Statuses*>& one : of_method) delete one.load(std::memory_order_relaxed);
    }
}

void LoopMetrics::count(const AccessRecord& record) {
    const Matched* const matched = record.matched;
    Route& route = *routes_[matched != nullptr ? matched->series : 0];
    observe(route.durations, duration_bounds, nanoseconds(record.duration));
    observe(route.sent, size_bounds, record.body_bytes);
    observe(route.received, size_bounds, record.received_bytes);
    const Request& request = *record.request;
    const auto method = request.head != nullptr ? request.method() : wire::Method::other;
    std::atomic<Statuses*>& statuses =
        route.statuses[static_cast<std::size_t>(method)][static_cast<std::size_t>(request.version)];
    Statuses* counts = statuses.load(std::memory_order_relaxed);
    if (counts == nullptr) {
        counts = new (std::nothrow) Statuses;
        if (counts == nullptr) return;
        statuses.store(counts, std::memory_order_release);  // to the thread that makes a page
    }
    const auto status = static_cast<std::size_t>(record.status - 100);
    add(counts->counts[status < site_->status_index_.size() ? site_->status_index_[status] : 0], 1);
}

void LoopMetrics::lag(Duration late) {
    observe(lags_, duration_bounds, nanoseconds(late));
}

SiteMetrics::SiteMetrics() : routes_(1), known_{{Names(), 0}} {
    routes_[0].users = 1;  // for ever
    for (int status = 100; status < 600; ++status) {
        if (wire::reason_phrase(status).empty()) continue;
        status_index_[static_cast<std::size_t>(status - 100)] =
            static_cast<std::uint8_t>(statuses_.size());
        statuses_.push_back(status);
    }
    TR_CHECK(statuses_.size() <= LoopMetrics::statuses_max, "room for each registered status");
}

LoopMetrics& SiteMetrics::add_loop() {
    auto made = std::make_unique<LoopMetrics>(*this);
    const std::lock_guard held(lock_);
    return *loops_.emplace_back(std::move(made));
}

std::uint32_t SiteMetrics::series_of(Names names) {
    const auto [known, is_new] = known_.emplace(names, 0);
    if (!is_new) return known->second;
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(routes_.size()));
        routes_.emplace_back();
    }
    known->second = free_.back();
    free_.pop_back();
    routes_[known->second].names = std::move(names);
    return known->second;
}

void SiteMetrics::add_requests(metrics::Page& page) const {
    page.begin(metrics::Type::counter, "tiderace_http_requests_total", "Requests answered.");
    for (std::size_t r = 0; r < routes_.size(); ++r) {
        for (std::size_t m = 0; m < LoopMetrics::methods; ++m) {
            for (std::size_t v = 0; v < LoopMetrics::versions; ++v) add_statuses(page, r, m, v);
        }
    }
}

void SiteMetrics::add_statuses(metrics::Page& page, std::size_t series, std::size_t method,
                               std::size_t version) const {
    std::vector<const LoopMetrics::Statuses*> counts;
    for (const auto& loop : loops_) {
        const LoopMetrics::Route* const route = loop->route(series);
        if (route == nullptr) continue;
        const auto* const one = route->statuses[method][version].load(std::memory_order_acquire);
        if (one != nullptr) counts.push_back(one);
    }
    if (counts.empty()) return;
    for (std::size_t s = 0; s < statuses_.size(); ++s) {
        std::uint64_t sum = 0;
        for (const auto* const one : counts) sum += one->counts[s].load(std::memory_order_relaxed);
        if (sum == 0) continue;
        page.value({{"site", routes_[series].names.first},
                    {"route", routes_[series].names.second},
                    {"method", std::string(name_of(method))},
                    {"code", s == 0 ? "other" : std::to_string(statuses_[s])},
                    {"protocol", std::string(protocols[version])}},
                   sum);
    }
}

namespace {

template <typename Buckets>
void sum_up(metrics::HistogramValue& value, const Buckets& buckets, double per_unit) {
    for (std::size_t i = 0; i < value.counts.size(); ++i) {
        value.counts[i] += buckets.counts[i].load(std::memory_order_relaxed);
    }
    value.sum += static_cast<double>(buckets.sum.load(std::memory_order_relaxed)) / per_unit;
}

metrics::HistogramValue empty_value(std::span<const std::uint64_t> bounds, double per_unit) {
    metrics::HistogramValue value;
    for (const std::uint64_t bound : bounds) {
        value.bounds.push_back(static_cast<double>(bound) / per_unit);
    }
    value.counts.resize(bounds.size() + 1);
    return value;
}

// Divided, not multiplied: 0.005 is then the nearest to it.
constexpr double per_second = 1e9;

}  // namespace

template <typename Member>
void SiteMetrics::add_histogram(metrics::Page& page, Member member,
                                std::span<const std::uint64_t> bounds, double per_unit) const {
    for (std::size_t r = 0; r < routes_.size(); ++r) {
        metrics::HistogramValue value = empty_value(bounds, per_unit);
        for (const auto& loop : loops_) {
            const LoopMetrics::Route* const route = loop->route(r);
            if (route != nullptr) sum_up(value, route->*member, per_unit);
        }
        if (std::ranges::all_of(value.counts, [](std::uint64_t n) { return n == 0; })) continue;
        page.histogram({{"site", routes_[r].names.first}, {"route", routes_[r].names.second}},
                       value);
    }
}

SiteMetrics::Requests SiteMetrics::requests() const {
    const std::lock_guard held(lock_);
    Requests all;
    for (const auto& loop : loops_) {
        all.in_flight += loop->in_flight_.load(std::memory_order_relaxed);
        for (std::size_t r = 0; r < routes_.size(); ++r) {
            const LoopMetrics::Route* const route = loop->route(r);
            if (route == nullptr) continue;
            std::uint64_t& answered = all.answered[routes_[r].names.first];
            for (const auto& count : route->durations.counts) {
                answered += count.load(std::memory_order_relaxed);
            }
        }
    }
    return all;
}

void SiteMetrics::add_to(metrics::Page& page) const {
    using metrics::Type;
    const std::lock_guard held(lock_);
    add_requests(page);
    page.begin(Type::gauge, "tiderace_http_requests_in_flight", "Requests not answered yet.");
    std::uint64_t in_flight = 0;
    metrics::HistogramValue lags = empty_value(duration_bounds, per_second);
    for (const auto& loop : loops_) {
        in_flight += loop->in_flight_.load(std::memory_order_relaxed);
        sum_up(lags, loop->lags_, per_second);
    }
    page.value({}, in_flight);
    page.begin(Type::histogram, "tiderace_http_request_duration_seconds",
               "From a request's head to the last byte of its answer.");
    add_histogram(page, &Kind::durations, duration_bounds, per_second);
    page.begin(Type::histogram, "tiderace_http_request_body_size_bytes",
               "Bytes of a request's body that were received.");
    add_histogram(page, &Kind::received, size_bounds, 1);
    page.begin(Type::histogram, "tiderace_http_response_body_size_bytes",
               "Bytes of an answer's body that were sent.");
    add_histogram(page, &Kind::sent, size_bounds, 1);
    page.begin(Type::histogram, "tiderace_loop_lag_seconds", "How late a timer of a loop was.");
    page.histogram({}, lags);
}

void ServerMetrics::add_to(metrics::Page& page, const metrics::Labels& build) const {
    metrics::Labels labels{{"version", TIDERACE_VERSION_TEXT}};
    labels.insert(labels.end(), build.begin(), build.end());
    page.begin(metrics::Type::gauge, "tiderace_build_info", "The library that serves; always 1.");
    page.value(labels, std::uint64_t{1});
    add_connections(page);
    site_.add_to(page);
    metrics::add_process(page);
}

void ServerMetrics::add_server(std::shared_ptr<const net::TcpServerCounters> counters) {
    const std::lock_guard held(lock_);
    servers_.push_back(std::move(counters));
}

void ServerMetrics::add_connections(metrics::Page& page) const {
    using metrics::Type;
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;
    std::uint64_t ended = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(net::CloseReason::count_)> closed{};
    {
        const std::lock_guard held(lock_);
        for (const auto& server : servers_) {
            // Read before the opened ones: otherwise more could have ended than were opened.
            for (std::size_t i = 0; i < closed.size(); ++i) {
                const std::uint64_t one = server->closed[i].load(std::memory_order_acquire);
                closed[i] += one;
                ended += one;
            }
            opened += server->opened.load(std::memory_order_relaxed);
            refused += server->refused.load(std::memory_order_relaxed);
        }
    }
    page.begin(Type::counter, "tiderace_connections_accepted_total", "Connections that began.");
    page.value({}, opened);
    page.begin(Type::gauge, "tiderace_connections_open", "Connections that are open.");
    page.value({}, opened - std::min(ended, opened));
    page.begin(Type::counter, "tiderace_connections_closed_total",
               "Connections that ended, by why.");
    for (std::size_t i = 0; i < closed.size(); ++i) {
        const std::string reason(net::to_string(static_cast<net::CloseReason>(i)));
        page.value({{"reason", reason}}, closed[i]);
    }
    page.begin(Type::counter, "tiderace_connections_refused_total",
               "Connections above a limit, which were closed at once.");
    page.value({{"reason", "limit"}}, refused);
}

LagProbe::LagProbe(core::EventLoop& loop, LoopMetrics& metrics) : loop_(&loop), metrics_(&metrics) {
    arm();
}

LagProbe::~LagProbe() {
    loop_->cancel(*this);
}

void LagProbe::arm() {
    loop_->assert_on_loop();
    loop_->arm(*this, loop_->now() + period);
    due_ = due();  // the end of its tick
}

void LagProbe::on_expired() {
    metrics_->lag(loop_->now() - due_);
    arm();
}

}  // namespace tiderace::http

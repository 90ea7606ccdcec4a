#include "tiderace/http/request_metrics.h"

#include <algorithm>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/site.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/http/wire/status.h"
#include "tiderace/metrics/own_cpu.h"
#include "tiderace/metrics/process.h"
#include "tiderace/net/close_reason.h"
#include "tiderace/version.h"

namespace tiderace::http {
namespace {

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
        site_->keep_bytes_of(series);
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
    delete exemplars.load(std::memory_order_relaxed);
}

LoopMetrics::Route& LoopMetrics::route_of(const Matched* matched) {
    return *routes_[matched != nullptr ? matched->series : 0];
}

void LoopMetrics::count(const AccessRecord& record) {
    Route& route = route_of(record.matched);
    const std::size_t bucket = route.durations.observe(metrics::nanoseconds(record.duration));
    route.heads.observe(metrics::nanoseconds(record.head));
    route.sent.observe(record.body_bytes);
    route.received.observe(record.received_bytes);
    if (record.turned_away != wire::TurnedAway::no) [[unlikely]] {
        ++route.turned_away[static_cast<std::size_t>(record.turned_away)];
    }
    if (record.refusal != wire::Refusal::none) [[unlikely]] {
        ++refusals_[static_cast<std::size_t>(record.refusal)];
    }
    if (route.looks.take(bucket, record.when)) [[unlikely]]
        keep_trace(route, bucket, record);
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
    ++counts->counts[status < site_->status_index_.size() ? site_->status_index_[status] : 0];
}

void LoopMetrics::keep_trace(Route& route, std::size_t bucket, const AccessRecord& record) {
    if (record.request->head == nullptr) return;
    const log::TraceContext trace = record.request->trace();
    if (trace.parent_id().empty() || !trace.sampled()) return;
    auto* all = route.exemplars.load(std::memory_order_relaxed);
    if (all == nullptr) {
        all = new (std::nothrow) metrics::Exemplars<metrics::Durations>;
        if (all == nullptr) return;
        route.exemplars.store(all, std::memory_order_release);
    }
    all->keep(bucket, trace.trace_id(), metrics::nanoseconds(record.duration), record.when);
}

void LoopMetrics::lag(Duration late) {
    lags_.observe(metrics::nanoseconds(late));
}

SiteMetrics::SiteMetrics() : routes_(1), known_{{Names(), 0}}, sites_{{"", {.routes = 1}}} {
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
    ++sites_[names.first].routes;
    routes_[known->second].names = std::move(names);
    return known->second;
}

template <typename NumberOf>
std::uint64_t SiteMetrics::sum_of(std::size_t series, NumberOf number_of) const {
    std::uint64_t sum = 0;
    for (const auto& loop : loops_) {
        const LoopMetrics::Route* const route = loop->route(series);
        if (route != nullptr) sum += number_of(*route);
    }
    return sum;
}

// A site's bytes go on when it loses a route: a counter that falls looks like a new start.
void SiteMetrics::keep_bytes_of(std::uint32_t series) {
    const auto site = sites_.find(routes_[series].names.first);
    if (--site->second.routes == 0) {
        sites_.erase(site);
        return;
    }
    site->second.received += sum_of(series, [](const Kind& route) { return route.received.sum(); });
    site->second.sent += sum_of(series, [](const Kind& route) { return route.sent.sum(); });
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
        for (const auto* const one : counts) sum += one->counts[s];
        if (sum == 0) continue;
        page.value({{"site", routes_[series].names.first},
                    {"route", routes_[series].names.second},
                    {"method", std::string(name_of(method))},
                    {"code", s == 0 ? "other" : std::to_string(statuses_[s])},
                    {"protocol", std::string(protocols[version])}},
                   sum);
    }
}

template <typename Buckets>
void SiteMetrics::add_histogram(metrics::Page& page, Buckets Kind::* member) const {
    for (std::size_t r = 0; r < routes_.size(); ++r) {
        metrics::HistogramValue value = Buckets::empty();
        for (const auto& loop : loops_) {
            const LoopMetrics::Route* const route = loop->route(r);
            if (route == nullptr) continue;
            (route->*member).add_to(value);
            if constexpr (std::is_same_v<Buckets, metrics::Durations>) {
                const auto* const traces = route->exemplars.load(std::memory_order_acquire);
                const bool shows = page.has_exemplars() && member == &Kind::durations;
                if (shows && traces != nullptr) traces->add_to(value);
            }
        }
        if (std::ranges::all_of(value.counts, [](std::uint64_t n) { return n == 0; })) continue;
        page.histogram({{"site", routes_[r].names.first}, {"route", routes_[r].names.second}},
                       value);
    }
}

void SiteMetrics::add_turned_away(metrics::Page& page, wire::TurnedAway why) const {
    for (std::size_t r = 0; r < routes_.size(); ++r) {
        const std::uint64_t sum = sum_of(r, [&](const Kind& route) -> std::uint64_t {
            return route.turned_away[static_cast<std::size_t>(why)];
        });
        if (sum == 0) continue;
        page.value({{"site", routes_[r].names.first}, {"route", routes_[r].names.second}}, sum);
    }
}

template <typename NumberOf>
std::map<std::string_view, std::uint64_t> SiteMetrics::by_site(NumberOf number_of) const {
    std::map<std::string_view, std::uint64_t> all;
    for (std::size_t r = 0; r < routes_.size(); ++r) {
        if (routes_[r].users > 0) all[routes_[r].names.first] += sum_of(r, number_of);
    }
    return all;
}

void SiteMetrics::add_body_bytes(metrics::Page& page, metrics::Sizes Kind::* member,
                                 std::uint64_t OfSite::* before) const {
    auto all = by_site([&](const Kind& route) { return (route.*member).sum(); });
    for (const auto& [name, site] : sites_) all[name] += site.*before;
    for (const auto& [site, bytes] : all) page.value({{"site", std::string(site)}}, bytes);
}

void SiteMetrics::add_refusals(metrics::Page& page) const {
    for (std::size_t i = 1; i < wire::refusals; ++i) {
        std::uint64_t sum = 0;
        for (const auto& loop : loops_) sum += loop->refusals_[i];
        if (sum == 0) continue;
        const std::string reason(wire::to_string(static_cast<wire::Refusal>(i)));
        page.value({{"reason", reason}}, sum);
    }
}

SiteMetrics::Requests SiteMetrics::requests() const {
    const std::lock_guard held(lock_);
    Requests all;
    for (const auto& loop : loops_) {
        for (std::size_t r = 0; r < routes_.size(); ++r) {
            const LoopMetrics::Route* const route = loop->route(r);
            if (route == nullptr) continue;
            all.in_flight += route->in_flight;
            all.answered[routes_[r].names.first] += route->durations.count();
        }
    }
    return all;
}

void SiteMetrics::add_to(metrics::Page& page) const {
    using metrics::Type;
    const std::lock_guard held(lock_);
    add_requests(page);
    page.family(Type::gauge, "tiderace_http_requests_in_flight", "Requests not answered yet.",
                "site", by_site([](const Kind& route) -> std::uint64_t { return route.in_flight; }),
                [](std::uint64_t number) { return number; });
    page.begin(Type::histogram, "tiderace_http_request_duration_seconds",
               "From a request's head to the last byte of its answer.");
    add_histogram(page, &Kind::durations);
    page.begin(Type::histogram, "tiderace_http_response_head_seconds",
               "From a request's head to the first byte of its answer.");
    add_histogram(page, &Kind::heads);
    page.begin(Type::histogram, "tiderace_http_request_body_size_bytes",
               "Bytes of a request's body that were received.");
    add_histogram(page, &Kind::received);
    page.begin(Type::histogram, "tiderace_http_response_body_size_bytes",
               "Bytes of an answer's body that were sent.");
    add_histogram(page, &Kind::sent);
    page.begin(Type::counter, "tiderace_http_request_body_bytes_total",
               "Bytes of requests' bodies that were received.");
    add_body_bytes(page, &Kind::received, &OfSite::received);
    page.begin(Type::counter, "tiderace_http_response_body_bytes_total",
               "Bytes of answers' bodies that were sent.");
    add_body_bytes(page, &Kind::sent, &OfSite::sent);
    page.begin(Type::counter, "tiderace_rate_limited_total",
               "Requests above a client's limit of requests.");
    add_turned_away(page, wire::TurnedAway::rate);
    page.begin(Type::counter, "tiderace_auth_failures_total",
               "Requests whose password or token was wrong.");
    add_turned_away(page, wire::TurnedAway::credentials);
    page.begin(Type::counter, "tiderace_http_request_refusals_total",
               "Requests against the protocol or its limits.");
    add_refusals(page);
    metrics::HistogramValue lags = metrics::Durations::empty();
    for (const auto& loop : loops_) loop->lags_.add_to(lags);
    page.begin(Type::histogram, "tiderace_loop_lag_seconds", "How late a timer of a loop was.");
    page.histogram({}, lags);
    page.begin(Type::gauge, "tiderace_loop_busy_ratio",
               "The part of the last quarter second that a loop's thread computed.");
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        const double part = loops_[i]->busy_.load(std::memory_order_relaxed);
        if (part >= 0) page.value({{"loop", std::to_string(i)}}, part);
    }
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
    measure_cpu();
    arm();
}

// From the second time on: this may have been made on another thread.
void LagProbe::measure_cpu() {
    const Instant now = loop_->now();
    const Duration cpu = metrics::own_thread_cpu();
    if (looked_at_ != Instant{} && now > looked_at_ && cpu > Duration::zero()) {
        const double part = static_cast<double>((cpu - cpu_before_).count()) /
                            static_cast<double>((now - looked_at_).count());
        metrics_->busy(std::clamp(part, 0.0, 1.0));
    }
    looked_at_ = now;
    cpu_before_ = cpu;
}

}  // namespace tiderace::http

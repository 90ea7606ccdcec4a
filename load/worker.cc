#include "load/worker.h"

#include <algorithm>

#include "tiderace/base/moment.h"
#include "tiderace/metrics/own_cpu.h"

namespace tiderace::load {
namespace {

// Between two searches for connections that take too long. Each goes over all connections, and the
// figures would show it if it came more often.
constexpr Duration look_interval = 100ms;
constexpr Duration ramp_interval_min = 1ms;
// Above 20,000 requests a second a tick for each would cost more than the requests: one tick finds
// several due.
constexpr Duration tick_interval_min = 50us;
// While connections are gathered, the measured time waits for them: check more often.
constexpr Duration gather_interval = 5ms;

}  // namespace

Result<std::unique_ptr<LoadWorker>> LoadWorker::create(const LoadPlan& plan, Share share) {
    auto loop = core::EventLoop::create({.engine = plan.options.engine});
    if (!loop) return fail(loop.error());
    std::unique_ptr<LoadTls> tls;
    if (plan.target.tls) {
        auto made = LoadTls::create(**loop, plan.options, plan.target);
        if (!made) return fail(made.error());
        tls = std::move(*made);
    }
    return std::unique_ptr<LoadWorker>(
        new LoadWorker(plan, share, std::move(*loop), std::move(tls)));
}

LoadWorker::LoadWorker(const LoadPlan& plan, Share share, std::unique_ptr<core::EventLoop> loop,
                       std::unique_ptr<LoadTls> tls)
    : plan_(&plan),
      share_(share),
      loop_(std::move(loop)),
      tls_(std::move(tls)),
      pacer_(share.rate, share.requests, plan.options.ramp) {
    tally_.connections = share.connections;
    // Before the run: as little as can be is allocated while it is measured.
    for (std::uint64_t i = 0; i < share.connections; ++i) {
        connections_.push_back(std::make_unique<LoadConnection>(*this, share.first_connection + i));
    }
    // A connection that ends is there until the end of its turn.
    const net::ConnectorOptions options{
        .connection = plan.limits,
        .timeout = plan.options.timeout,
        .connections_max = 2 * static_cast<std::size_t>(share.connections) + 16};
    connector_ = std::make_unique<net::Connector>(*loop_, options);
    // Many connections are opened first and used then, so that latency does not measure the
    // opening. Shown from the beginning: an observer that comes first must not take it for asking.
    gathering_ = connections_.size() > opening_max && !plan.options.close &&
                 plan.options.ramp == Duration::zero();
    publish();
}

LoadWorker::~LoadWorker() = default;

//   run() --few connections, --close or a ramp--> asking --the time, the requests, stop()--> ending
//     |                                             ^
//     +--many--> gathering --all are open, none has opened for a while, or gathering_max
//
// Ending: shut_down() closes all, and requests under way then are no errors.
void LoadWorker::run() {
    cpu_before_ = metrics::own_thread_cpu();
    loop_->turn(Duration::zero());  // so that the loop knows the time
    start_ = look_ = opened_last_ = read_clock();
    end_ = Instant::max();
    if (!gathering_) begin_asking();
    let_in(start_);
    loop_->arm(*this, next_look(start_));
    while (!ending_) {
        loop_->turn(Duration(-1));
        publish();
        // The last answer of a counted run ends it at once, and not at the next look.
        if (pacer_.exhausted() && under_way_ == 0) ending_ = true;
    }
    // The turn that noticed the end may be late, and its delay is no part of the run.
    elapsed_ = std::min(read_clock(), end_) - start_;
    // Stopped while it gathered, the schedule has not begun.
    if (!gathering_) tally_.never_sent = pacer_.overdue(std::min(now_, end_));
    // For the same time: closing ten thousand connections would make a short run's loop look busier
    // than it was.
    cpu_ = metrics::own_thread_cpu() - cpu_before_;
    shut_down();
    records_latency();  // a window without an answer has none of those before it
    publish();
    // After the last figures: the mark shows that these are final.
    shown_.finish();
}

void LoadWorker::enter_window(LatencyWindow now) {
    if (window_seen_ == LatencyWindow::none) tally_.latency = tally_.slow_latency = {};
    window_seen_ = now;
}

// The time counts from here, and with it the CPU time: divided by each other they are the loop's
// share of a CPU, which the opening of ten thousand connections would raise above 1.
void LoadWorker::begin_asking() {
    gathering_ = false;
    gathering_cpu_ = metrics::own_thread_cpu() - cpu_before_;
    cpu_before_ += gathering_cpu_;
    start_ = read_clock();
    const Duration run_time = plan_->options.run_time();
    end_ = moment_after(start_, run_time);
    pacer_.begin(start_);
    if (pacer_.open_loop()) {
        ticks_ = std::make_unique<PaceTicks>(*loop_, static_cast<PaceTicks::Receiver&>(*this));
    }
    for (auto& connection : connections_) has_room(*connection);
}

// A closed loop's connections open one after another over the ramp; an open loop's are all there
// from the beginning, and its rate rises.
void LoadWorker::let_in(Instant now) {
    const Duration ramp = plan_->options.ramp;
    std::size_t due = connections_.size();
    if (!pacer_.open_loop() && now - start_ < ramp) {
        const double share = std::chrono::duration<double>(now - start_) / ramp;
        due = std::min(due, 1 + static_cast<std::size_t>(share * static_cast<double>(due)));
    }
    // Through the queue, because at most opening_max may be under way at a time.
    for (; let_in_ < due; ++let_in_) to_open_.push_back(connections_[let_in_].get());
    open_more();
}

Instant LoadWorker::next_look(Instant now) const {
    if (gathering_) return now + gather_interval;
    if (let_in_ == connections_.size()) return std::min(now + look_interval, end_);
    const double share = static_cast<double>(let_in_) / static_cast<double>(connections_.size());
    const auto due = start_ + Duration(static_cast<std::int64_t>(
                                  share * static_cast<double>(plan_->options.ramp.count())));
    return std::min(std::clamp(due, now + ramp_interval_min, now + look_interval), end_);
}

void LoadWorker::shut_down() {
    ticks_.reset();
    loop_->cancel(*this);
    for (auto& connection : connections_) connection->end();
    do {
        // Connections that are being made also report back, and each refers to its LoadConnection.
        connector_->abort_all();
        loop_->turn(Duration::zero());
    } while (connector_->size() > 0);
    for (auto& connection : connections_) {
        const std::uint64_t answers = connection->answers();
        tally_.starved += answers == 0;
        tally_.per_connection_min = std::min(tally_.per_connection_min, answers);
        tally_.per_connection_max = std::max(tally_.per_connection_max, answers);
    }
}

// After every turn: errors, which are sums, only in on_expired().
void LoadWorker::publish() {
    seen_.answers = tally_.answers;
    seen_.received_bytes = tally_.received_bytes;
    seen_.opened = tally_.opened;
    seen_.open = open_;
    seen_.asking = !gathering_;
    shown_.show(seen_);
}

void LoadWorker::on_expired() {
    const Instant now = read_clock();
    seen_.errors = tally_.errors_total();
    seen_.wrong_answers = tally_.wrong_answers();
    seen_.connect_errors = tally_.connect_errors_total();
    if (now >= end_ || stop_.load(std::memory_order_relaxed)) {
        ending_ = true;
        return;
    }
    if (gathering_) {
        if (tally_.opened > opened_seen_) opened_last_ = now;
        opened_seen_ = tally_.opened;
        const bool all = opened_seen_ >= connections_.size();
        if (all || now - opened_last_ >= opening_patience || now - start_ >= gathering_max) {
            begin_asking();
        }
    }
    if (let_in_ < connections_.size()) let_in(now);
    if (now >= look_) {
        look_ = now + look_interval;
        for (auto& connection : connections_) connection->check_timeout(now);
    }
    loop_->arm(*this, next_look(now));
}

// opening_ falls in connect_done(), which calls this again: a slow accept queue slows the opening
// down and nothing else.
void LoadWorker::open_more() {
    while (opening_ < opening_max && !to_open_.empty()) {
        LoadConnection* next = to_open_.front();
        to_open_.pop_front();
        ++opening_;
        next->start();
    }
}

void LoadWorker::wants_to_open(LoadConnection& connection) {
    // No request left: no connection is opened for nothing. A request in flight may still be
    // given back, and then needs one.
    if (ending_ || (pacer_.exhausted() && under_way_ == 0)) return;
    to_open_.push_back(&connection);
    open_more();
}

void LoadWorker::connect_done(LoadConnection&) {
    --opening_;
    open_more();
}

void LoadWorker::count_open(int change) {
    open_ += change;
    tally_.open_max = std::max(tally_.open_max, static_cast<std::uint64_t>(open_));
}

void LoadWorker::has_room(LoadConnection& connection) {
    if (gathering_ || !connection.has_room()) return;
    // A closed loop sends as answers come; an open loop only when a request is due.
    if (!pacer_.open_loop()) {
        // on_data() has read the clock for its answers. At other times the loop's own is near
        // enough.
        if (now_ < loop_->now()) now_ = loop_->now();
        connection.send(SIZE_MAX);
        return;
    }
    if (!connection.is_idle_listed) {
        connection.is_idle_listed = true;
        idle_.push_back(&connection);
    }
    on_tick();
}

// One request for each in turn, so that all connections carry the load.
void LoadWorker::on_tick() {
    read_clock();
    while (!idle_.empty() && pacer_.is_due(now_)) {
        LoadConnection& next = *idle_.front();
        idle_.pop_front();
        next.is_idle_listed = false;
        // It may have lost its room or its connection since it was listed.
        if (!next.has_room()) continue;
        next.send(1);
        if (next.has_room()) {
            next.is_idle_listed = true;
            idle_.push_back(&next);
        }
    }
    // Nothing is set while requests are overdue: no connection has room then, and the next one that
    // gets some comes here by has_room().
    if (const auto due = pacer_.next_due(now_))
        ticks_->set(std::max(*due, now_ + tick_interval_min));
}

void LoadWorker::give_back(Instant intended) {
    pacer_.give_back(intended);
    // In an open loop connections wait idle for a tick, and none may be set: it could have been the
    // last request. Not sent from here, inside a connection's call.
    if (ticks_ != nullptr) ticks_->set(now_);
}

}  // namespace tiderace::load

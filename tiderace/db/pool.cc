#include "tiderace/db/pool.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "tiderace/db/error.h"
#include "tiderace/task/sleep.h"
#include "tiderace/task/within.h"

namespace tiderace::db {
namespace {

// Without SQLite's file, each connection would have a database of its own.
std::size_t readers_of(const Settings& settings) {
    const bool reads_apart =
        settings.url.dialect == Dialect::sqlite && settings.url.path != ":memory:";
    return reads_apart ? settings.options.connections_max : 0;
}

std::size_t writers_of(const Settings& settings) {
    return settings.url.dialect == Dialect::sqlite ? 1 : settings.options.connections_max;
}

// Counts a waiting task, however it ends.
class Counted {
  public:
    explicit Counted(std::size_t& count) : count_(&count) { ++*count_; }
    ~Counted() { --*count_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

  private:
    std::size_t* count_;
};

}  // namespace

Lease& Lease::operator=(Lease&& other) noexcept {
    if (this != &other) {
        give_back();
        pool_ = other.pool_;
        lane_ = other.lane_;
        connection_ = std::move(other.connection_);
        permit_ = std::move(other.permit_);
    }
    return *this;
}

void Lease::give_back() {
    if (connection_ == nullptr) return permit_.release();
    if (connection_->broken()) {
        connection_.reset();
        return permit_.release();
    }
    if (connection_->clean()) return pool_->keep(*this);
    Pool& pool = *pool_;
    pool.runner_->spawn(pool.recover(std::move(*this)));
}

Pool::Pool(task::Runner& runner, std::shared_ptr<const Settings> settings)
    : runner_(&runner),
      settings_(std::move(settings)),
      random_(Random::with_system_seed()),
      reads_(readers_of(*settings_), settings_->options),
      writes_(writers_of(*settings_), settings_->options) {}

Pool::~Pool() = default;

Duration Pool::about(Duration pause) {
    return task::spread(pause, random_);
}

Pool::Counters Pool::counters() const {
    return {.idle = reads_.idle.size() + writes_.idle.size(),
            .lent = reads_.size - reads_.permits.free() + writes_.size - writes_.permits.free(),
            .waiting = reads_.waiting + writes_.waiting,
            .opened = opened_,
            .failed = failed_};
}

task::Task<Lease> Pool::take(Lane lane, Instant until) {
    Side& from = side(lane);
    Lease lease;
    lease.pool_ = this;
    lease.lane_ = lane;
    lease.permit_ = co_await wait_for_permit(from, until);
    lease.connection_ = co_await ready_one(from, until);
    co_return lease;
}

task::Task<task::Semaphore::Permit> Pool::wait_for_permit(Side& side, Instant until) {
    if (side.permits.free() > 0) co_return co_await side.permits.acquire();
    if (side.waiting >= settings_->options.waiting_max) {
        throw Error(Fault::busy, "too many tasks wait for a connection (waiting_max)");
    }
    const Counted counted(side.waiting);
    auto permit = co_await task::within(until - now(), side.permits.acquire());
    if (!permit) {
        throw Error(Fault::busy, "no connection became free in time; connections_max is " +
                                     std::to_string(side.size));
    }
    co_return std::move(*permit);
}

task::Task<std::unique_ptr<Connection>> Pool::ready_one(Side& side, Instant until) {
    while (!side.idle.empty()) {
        Idle idle = std::move(side.idle.back());
        side.idle.pop_back();
        if (idle.connection->gone()) continue;
        if (now() - idle.since < settings_->options.check_after) {
            co_return std::move(idle.connection);
        }
        const Instant check_until = std::min(until, now() + settings_->options.connect_timeout);
        if (co_await idle.connection->answers(check_until)) co_return std::move(idle.connection);
    }
    co_return co_await new_one(side, until);
}

task::Task<std::unique_ptr<Connection>> Pool::new_one(Side& side, Instant until) {
    const Options& options = settings_->options;
    while (true) {
        // After a failure all tasks of the loop leave the server alone for the same pause.
        if (side.next_attempt > now()) co_await task::sleep_until(side.next_attempt);
        std::optional<Error> failure;
        auto made = make_connection(*runner_, *settings_, &side == &reads_);
        try {
            co_await made->open(std::min(until, now() + options.connect_timeout));
        } catch (const Error& error) {
            failure = error;
        }
        if (!failure) {
            ++opened_;
            side.backoff.reset();
            co_return made;
        }
        ++failed_;
        const Duration pause = side.backoff.next();
        if (failure->kind() == Fault::configuration) throw *failure;
        if (!failure->worth_another() || until - now() <= pause) throw *failure;
        side.next_attempt = now() + pause;
    }
}

// Spawned: only tasks that wait for its permit wait for it.
task::Task<> Pool::recover(Lease lease) {
    // Out of the lease: one that ends in here, at the runner's end, is not recovered again.
    std::unique_ptr<Connection> connection = std::move(lease.connection_);
    bool recovered = false;
    try {
        recovered = co_await connection->recover();
    } catch (const Error&) {  // recovered stays false
    }
    if (recovered && !connection->broken() && connection->clean()) {
        lease.connection_ = std::move(connection);
    }
}

void Pool::keep(Lease& lease) {
    side(lease.lane_).idle.push_back({std::move(lease.connection_), now()});
    lease.permit_.release();
}

Pool& Pools::of(const std::shared_ptr<const Settings>& settings) {
    for (const auto& each : all_) {
        if (each->shared_settings() == settings) return *each;
    }
    all_.push_back(std::make_unique<Pool>(*runner_, settings));
    return *all_.back();
}

}  // namespace tiderace::db

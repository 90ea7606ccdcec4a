#include "tiderace/db/pool.h"

#include "tiderace/task/backoff.h"

namespace tiderace::db {
namespace {

// Without SQLite's file, each connection would have a database of its own.
std::size_t readers_of(const Settings& settings) {
    const bool reads_apart =
        settings.url.dialect == Dialect::sqlite && settings.url.path != ":memory:";
    return reads_apart ? settings.options.connections_max : 0;
}

std::size_t writers_of(const Settings& settings) {
    // SQLite has one writer at a time: more would only meet each other's lock.
    return settings.url.dialect == Dialect::sqlite ? 1 : settings.options.connections_max;
}

ReserveOptions reserve_options(const Options& options, std::size_t connections) {
    return {.connections_max = connections,
            .waiting_max = options.waiting_max,
            .connect_timeout = options.connect_timeout,
            .reconnect_pause = options.reconnect_pause,
            .reconnect_pause_max = options.reconnect_pause_max,
            .check_after = options.check_after};
}

Reserve::Maker maker(task::Runner& runner, const Settings& settings, bool reads_only) {
    return
        [&runner, &settings, reads_only] { return make_connection(runner, settings, reads_only); };
}

}  // namespace

Pool::Pool(task::Runner& runner, const std::shared_ptr<const Settings>& settings)
    : runner_(&runner),
      settings_(*settings),
      handles_(settings),
      random_(Random::with_system_seed()),
      reads_(runner, reserve_options(settings_.options, readers_of(settings_)),
             maker(runner, settings_, true), settings_.counts->add()),
      writes_(runner, reserve_options(settings_.options, writers_of(settings_)),
              maker(runner, settings_, false), settings_.counts->add()) {}

std::shared_ptr<ReserveCounts> PoolCounts::add() {
    const std::lock_guard held(lock_);
    return all_.emplace_back(std::make_shared<ReserveCounts>());
}

std::uint64_t PoolCounts::sum(LoopCount ReserveCounts::* member) const {
    const std::lock_guard held(lock_);
    std::uint64_t sum = 0;
    for (const auto& one : all_) sum += (*one).*member;
    return sum;
}

bool Pool::left() const {
    return handles_.expired() && reads_.unused() && writes_.unused() && gather_.unused();
}

Duration Pool::about(Duration pause) {
    return task::spread(pause, random_);
}

Pool::Counters Pool::counters() const {
    Counters all = writes_.counters();
    const Counters reads = reads_.counters();
    all.idle += reads.idle;
    all.lent += reads.lent;
    // A collector waits in the reserve for all its reads, which are counted themselves.
    all.waiting += reads.waiting + gather_.waiting() - gather_.collectors_waiting();
    all.opened += reads.opened;
    all.failed += reads.failed;
    return all;
}

task::Task<Lease> Pool::take(Lane lane, Instant until) {
    Lease lease;
    lease.pool_ = this;
    lease.loan_ = co_await side(lane).take(until);
    co_return lease;
}

namespace {

// The pools of one loop.
class Pools {
  public:
    explicit Pools(task::Runner& runner) : runner_(&runner) {}

    Pool& of(const std::shared_ptr<const Settings>& settings) {
        for (const auto& each : all_) {
            if (each->has(settings)) return *each;
        }
        // A program may open a database for each of its customers, or for each request: the
        // connections of all of them would stay open.
        std::erase_if(all_, [](const auto& each) { return each->left(); });
        all_.push_back(std::make_unique<Pool>(*runner_, settings));
        return *all_.back();
    }

  private:
    task::Runner* runner_;
    std::vector<std::unique_ptr<Pool>> all_;
};

}  // namespace

Pool& pool_of(const std::shared_ptr<const Settings>& settings) {
    return task::Context::here().runner->local<Pools>().of(settings);
}

}  // namespace tiderace::db

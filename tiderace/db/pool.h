// Pool: the connections of one loop to one database.
//
//   take() -> a free one, asked whether it answers if it was idle for long
//          -> a new one, while there are fewer than connections_max
//          -> or wait in order, for waiting_timeout          (Error{busy})
//   Lease ends -> clean: free again;  not clean: recovered first, on its own;  broken: closed
//
// SQLite has two sides: one connection writes, the others read. The servers have one.
//
// Owner    The runner's locals (one pool for each database of a loop). Leases end before it.
// Thread   The loop's.
// Errors   Error{busy}; what opening a connection throws.
// Limits   Options: connections_max, waiting_max, the timeouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/db/connection.h"
#include "tiderace/db/options.h"
#include "tiderace/db/url.h"
#include "tiderace/task/backoff.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/semaphore.h"

namespace tiderace::db {

struct Settings {
    Url url;
    Options options;
};

enum class Lane : std::uint8_t { reads, writes };

class Pool;

// A connection on loan.
class Lease {
  public:
    Lease() = default;
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) noexcept;
    ~Lease() { give_back(); }

    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }
    Pool& pool() const { return *pool_; }
    void give_back();

  private:
    friend class Pool;

    Pool* pool_ = nullptr;
    Lane lane_ = Lane::writes;
    std::unique_ptr<Connection> connection_;
    task::Semaphore::Permit permit_;
};

class Pool final {
  public:
    Pool(task::Runner& runner, std::shared_ptr<const Settings> settings);
    ~Pool();

    task::Task<Lease> take(Lane lane, Instant until);

    const Settings& settings() const { return *settings_; }
    const std::shared_ptr<const Settings>& shared_settings() const { return settings_; }
    task::Runner& runner() const { return *runner_; }
    Instant now() const { return runner_->loop().now(); }
    // Three quarters to five quarters of it.
    Duration about(Duration pause);

    struct Counters {
        std::size_t idle = 0;
        std::size_t lent = 0;  // or being opened or recovered
        std::size_t waiting = 0;
        std::uint64_t opened = 0;
        std::uint64_t failed = 0;  // connections that could not be opened
    };
    Counters counters() const;

  private:
    friend class Lease;
    struct Idle {
        std::unique_ptr<Connection> connection;
        Instant since;
    };
    struct Side {
        Side(std::size_t connections, const Options& options)
            : size(connections),
              permits(connections),
              backoff(options.reconnect_pause, options.reconnect_pause_max) {}
        std::size_t size;
        task::Semaphore permits;
        std::vector<Idle> idle;  // the one used last is at the back
        std::size_t waiting = 0;
        task::Backoff backoff;  // after a connection that could not be made
        Instant next_attempt{};
    };

    Side& side(Lane lane) { return lane == Lane::reads && reads_.size > 0 ? reads_ : writes_; }
    task::Task<task::Semaphore::Permit> wait_for_permit(Side& side, Instant until);
    task::Task<std::unique_ptr<Connection>> ready_one(Side& side, Instant until);
    task::Task<std::unique_ptr<Connection>> new_one(Side& side, Instant until);
    task::Task<> recover(Lease lease);
    void keep(Lease& lease);

    task::Runner* runner_;
    std::shared_ptr<const Settings> settings_;
    Random random_;
    Side reads_;
    Side writes_;
    std::uint64_t opened_ = 0;
    std::uint64_t failed_ = 0;
};

// The pools of one loop.
class Pools {
  public:
    explicit Pools(task::Runner& runner) : runner_(&runner) {}
    Pool& of(const std::shared_ptr<const Settings>& settings);

  private:
    task::Runner* runner_;
    std::vector<std::unique_ptr<Pool>> all_;
};

// What this build connects with. Throws Error{configuration} for a database that it lacks.
void check_built(const Url& url);
std::unique_ptr<Connection> make_connection(task::Runner& runner, const Settings& settings,
                                            bool reads_only);

}  // namespace tiderace::db

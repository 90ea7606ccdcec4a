// Internal. Pool: the connections of one loop to one database (Reserve).
//
// SQLite has two sides: one connection writes, the others read. The servers have one.
//
// Owner    The runner's locals (one pool for each database of a loop). Leases end before it. One
//          whose last Database has ended goes when the loop makes its next pool.
// Thread   The loop's.
// Errors   Error{busy}; what opening a connection throws.
// Limits   Options: connections_max, waiting_max, the timeouts; statements_bytes_max.
// Keywords: connection pool
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tiderace/base/lru_cache.h"
#include "tiderace/base/random.h"
#include "tiderace/base/units.h"
#include "tiderace/db/connection.h"
#include "tiderace/db/gather.h"
#include "tiderace/db/options.h"
#include "tiderace/db/reserve.h"
#include "tiderace/db/url.h"
#include "tiderace/task/runner.h"

namespace tiderace::db {

// What the reserves of all loops' pools count for one database. Any thread.
class PoolCounts {
  public:
    std::shared_ptr<ReserveCounts> add();
    std::uint64_t sum(LoopCount ReserveCounts::* member) const;

  private:
    mutable std::mutex lock_;
    std::vector<std::shared_ptr<ReserveCounts>> all_;
};

struct Settings {
    Url url;
    Options options;
    std::shared_ptr<PoolCounts> counts = std::make_shared<PoolCounts>();
};

enum class Lane : std::uint8_t { reads, writes };

class Pool;

// A connection on loan.
class Lease {
  public:
    Lease() = default;

    Connection& operator*() const { return static_cast<Connection&>(*loan_.get()); }
    Connection* operator->() const { return &**this; }
    Pool& pool() const { return *pool_; }
    void give_back() { loan_.give_back(); }

  private:
    friend class Pool;

    Pool* pool_ = nullptr;
    Loan loan_;
};

class Pool final {
  public:
    Pool(task::Runner& runner, const std::shared_ptr<const Settings>& settings);

    task::Task<Lease> take(Lane lane, Instant until);

    const Settings& settings() const { return settings_; }
    // Whether a Database with these settings uses this pool: two with the same URL may have
    // different options.
    bool has(const std::shared_ptr<const Settings>& settings) const {
        return !handles_.owner_before(settings) && !settings.owner_before(handles_);
    }
    // No Database and no task has it any more.
    bool left() const;
    task::Runner& runner() const { return *runner_; }
    Gather& gather() { return gather_; }
    std::size_t size(Lane lane) { return side(lane).size(); }
    // Tasks that could have a connection at once.
    std::size_t free(Lane lane) { return side(lane).free(); }
    // Tasks wait for a connection, not counting tasks that collect reads.
    bool waited_for(Lane lane) {
        return side(lane).counters().waiting > gather_.collectors_waiting();
    }
    // Statements by their texts: a program has few, and each runs many times.
    static constexpr std::size_t statements_bytes_max = 256_KiB;
    static constexpr std::size_t statement_bytes = 200;  // of an entry, beside its texts
    LruCache<std::string, StatementRef>& statements() { return statements_; }
    Instant now() const { return runner_->loop().now(); }
    // Three quarters to five quarters of it.
    Duration about(Duration pause);

    using Counters = Reserve::Counters;
    Counters counters() const;

  private:
    Reserve& side(Lane lane) { return lane == Lane::reads && reads_.size() > 0 ? reads_ : writes_; }

    task::Runner* runner_;
    Settings settings_;
    std::weak_ptr<const Settings> handles_;  // every Database, and every task of one, has them
    Random random_;
    LruCache<std::string, StatementRef> statements_{statements_bytes_max};
    Reserve reads_;
    Reserve writes_;
    Gather gather_{*this};
};

// The pool of the loop whose task calls it.
Pool& pool_of(const std::shared_ptr<const Settings>& settings);

// The maker of connections in this build. Throws Error{configuration} for a database that it lacks.
void check_built(const Url& url);
std::unique_ptr<Connection> make_connection(task::Runner& runner, const Settings& settings,
                                            bool reads_only);

}  // namespace tiderace::db

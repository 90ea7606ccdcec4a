#include "tiderace/db/database_metrics.h"

#include <map>
#include <mutex>
#include <utility>

#include "tiderace/db/database.h"
#include "tiderace/db/pool.h"
#include "tiderace/metrics/metrics.h"

namespace tiderace::db {

using metrics::Page;
using metrics::Type;

struct DatabaseMetrics::Known {
    std::map<std::string, std::shared_ptr<const PoolCounts>> databases;
    mutable std::mutex lock;

    void add_to(Page& page) const {
        const std::lock_guard held(lock);
        if (databases.empty()) return;
        page.begin(Type::gauge, "tiderace_database_connections_open",
                   "Connections to databases that are open, by state.");
        for (const auto& [name, counts] : databases) {
            page.value({{"database", name}, {"state", "active"}},
                       counts->sum(&ReserveCounts::lent));
            page.value({{"database", name}, {"state", "idle"}}, counts->sum(&ReserveCounts::idle));
        }
        const auto add = [&](Type type, std::string_view name, std::string_view help,
                             LoopCount ReserveCounts::* member) {
            page.family(type, name, help, "database", databases,
                        [&](const auto& counts) { return counts->sum(member); });
        };
        add(Type::gauge, "tiderace_database_queue_length", "Tasks that wait for a connection.",
            &ReserveCounts::waiting);
        add(Type::counter, "tiderace_database_connections_opened_total",
            "Connections to databases that were opened.", &ReserveCounts::opened);
        add(Type::counter, "tiderace_database_connection_failures_total",
            "Connections to databases that could not be opened.", &ReserveCounts::failed);
    }
};

DatabaseMetrics::DatabaseMetrics(metrics::Registry& registry) : known_(std::make_shared<Known>()) {
    registry.add_source([known = known_](Page& page) { known->add_to(page); });
}

void DatabaseMetrics::add(std::string name, const Database& database) const {
    const std::lock_guard held(known_->lock);
    known_->databases.insert_or_assign(std::move(name), database.settings()->counts);
}

}  // namespace tiderace::db

// DatabaseMetrics: the connections of a program's databases, on the page of App::metrics().
//
//   db::DatabaseMetrics databases(app.metrics("/metrics"));
//   databases.add("main", db);                            // all loops' pools are summed up
//
//   tiderace_database_connections_open{database,state}    state: active, idle
//   tiderace_database_queue_length{database}              tasks that wait for a connection
//   tiderace_database_connections_opened_total, _connection_failures_total
//
// Owner    The program. What was added stays when this object or the handle has ended.
// Thread   Any.
// Limits   A few series for each name; names come from the program and never from a request.
// Keywords: Prometheus, connection pool
#pragma once

#include <memory>
#include <string>

#include "tiderace/base/language.h"

namespace tiderace::metrics {
class Registry;
}

namespace tiderace::db {

class Database;

class DatabaseMetrics {
  public:
    explicit DatabaseMetrics(metrics::Registry& registry);

    void add(std::string name, const Database& database) const;

  private:
    struct Known;
    std::shared_ptr<Known> known_;
};

}  // namespace tiderace::db

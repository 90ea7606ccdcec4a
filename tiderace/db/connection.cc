#include "tiderace/db/connection.h"

#include "tiderace/db/error.h"

namespace tiderace::db {

// Nothing is done, and each read then runs on its own: MariaDB's library has no pipeline
// (Gather::helps).
task::Task<> Connection::run_together(Reads) {
    co_return;
}

task::Task<std::vector<Notification>> Connection::notifications(Instant) {
    throw Error(Fault::configuration, "only PostgreSQL notifies");
    co_return std::vector<Notification>();
}

}  // namespace tiderace::db

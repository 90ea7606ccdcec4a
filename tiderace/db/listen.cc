#include "tiderace/db/listen.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tiderace/base/moment.h"
#include "tiderace/task/sleep.h"

namespace tiderace::db {
namespace {

// After a silence of this length the connection is checked: a server that vanished sends nothing
// either.
constexpr Duration quiet_max = 60s;
constexpr Duration check_time = 5s;

void check_channel(const std::string& channel) {
    // It is put into the statement as it is: LISTEN does not take parameters.
    if (channel.empty() ||
        channel.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != channel.npos) {
        throw Error(Fault::configuration, "a channel's name may only contain a-z, 0-9 and _");
    }
}

}  // namespace

task::Generator<Notification> listen(Database database, std::string channel) {
    check_channel(channel);
    Pool& pool = pool_of(database.settings());
    const Options& options = pool.settings().options;
    // make_query() refuses this one.
    const std::string sql = "listen \"" + channel + "\"";
    const auto query = std::make_shared<const Query>(
        Statement{.sql = sql, .scanned = scan(sql, database.dialect())});
    task::Backoff backoff(options.reconnect_pause, options.reconnect_pause_max);
    while (true) {
        // Not one of the pool: it is held for as long as the program listens, and a few listeners
        // would hold them all.
        const auto connection = make_connection(pool.runner(), pool.settings(), false);
        std::optional<Error> failure;
        std::vector<Notification> found;
        try {
            co_await connection->open(moment_after(pool.now(), options.connect_timeout));
            const Portion portion{.rows_max = 1, .bytes_max = 1};
            co_await connection->run(query, portion,
                                     moment_after(pool.now(), options.statement_timeout));
        } catch (const Error& error) {
            failure = error;
        }
        // An empty notification: whatever was sent while there was no connection is lost, so the
        // reader should read the tables once.
        if (!failure) {
            backoff.reset();
            Notification first;
            first.channel = channel;
            co_yield std::move(first);
        }
        while (!failure) {
            try {
                found = co_await connection->notifications(pool.now() + quiet_max);
                if (found.empty() && !co_await connection->answers(pool.now() + check_time)) {
                    failure = Error(Fault::connection_lost, "no answer");
                }
            } catch (const Error& error) {
                failure = error;
            }
            for (Notification& each : found) co_yield std::move(each);
            found.clear();
        }
        // A wrong password or a missing database does not pass by waiting. A server that is too
        // slow does, and to listen twice is to listen once, so an unknown outcome is as good.
        const bool passes = failure->is_transient() || failure->kind() == Fault::unknown_outcome;
        if (!passes) throw *failure;
        co_await task::sleep(backoff.next());
    }
}

}  // namespace tiderace::db

// data_feed: how long a database takes over the feed of a member who follows many, one query after
// another.
//
//   data_feed URL MIGRATIONS fill
//   data_feed URL MIGRATIONS ask QUERIES
//
// `fill` makes an empty database: 100,000 members, a million posts, and one reader who follows 500,
// three of whom are followed by so many that their posts are joined in when a feed is read. `ask`
// prints times in microseconds as JSON, from the call to the posts in memory: the query in the
// database, the way there and back, and the mapping of the rows.
#include <tiderace/db.h>
#include <tiderace/task.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "examples/tidepool/posts.h"
#include "examples/tidepool/timelines.h"

namespace {

namespace db = tiderace::db;
using tiderace::Task;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t members = 100'000;
constexpr std::int64_t posts = 1'000'000;
constexpr std::int64_t reader = 1;
constexpr std::int64_t followed = 500;
constexpr std::int64_t well_known = 3;  // members 2, 3 and 4
constexpr std::int64_t fans = tidepool::fan_out_max + 1'000;
constexpr std::int64_t feed_posts = 20;

// Rows 1 to the parameter.
constexpr std::string_view numbers =
    "with recursive numbers(n) as (select cast(1 as bigint) union all"
    " select n + 1 from numbers where n < ?) ";

std::string with_numbers(std::string_view insert, std::string_view select) {
    return std::string(insert) + " " + std::string(numbers) + std::string(select);
}

Task<> fill_tables(db::Transaction& tx, bool is_sqlite) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    if (is_sqlite) {
        // Nothing is searched here, and an index of a million texts takes minutes.
        co_await tx.exec("drop trigger posts_inserted");
    } else {
        // The rows refer to what they should; checking each would take minutes.
        co_await tx.exec("set local session_replication_role = replica");
    }
    const std::string number = is_sqlite ? "n" : "cast(n as text)";
    co_await tx.exec(
        with_numbers("insert into members (id, created_at, username, name, email, password)",
                     "select n, ?, 'member_' || " + number + ", 'Member ' || " + number +
                         ", 'member_' || " + number + " || '@tidepool.example', '-' from numbers"),
        members, now);
    // Neighbouring posts have different authors: 7,919 and 100,000 have no
    // common divisor.
    co_await tx.exec(with_numbers("insert into posts (id, created_at, author, body)",
                                  "select n, ?, n * 7919 % 100000 + 1,"
                                  " 'Low water 06:12, said somebody for the ' || " +
                                      number + " || 'th time. Who else is up?' from numbers"),
                     posts, now);
    // One other each, and the reader five hundred, the well-known among them.
    co_await tx.exec(with_numbers("insert into follows (follower, followee, created_at)",
                                  "select n + 10, n + 9, ? from numbers"),
                     members - 10, now);
    co_await tx.exec(with_numbers("insert into follows (follower, followee, created_at)",
                                  "select 1, n + 1, ? from numbers"),
                     followed, now);
    co_await tx.exec(with_numbers("insert into follows (follower, followee, created_at)",
                                  "select n + 1000, k, ? from numbers,"
                                  " (select 2 as k union all select 3 union all select 4) known"),
                     fans, now);
    co_await tidepool::rebuild_timelines(tx);
}

Task<int> fill(db::Database db, std::string migrations) {
    co_await db::migrate(db, migrations);
    const bool is_sqlite = db.dialect() == db::Dialect::sqlite;
    // Or the indexes of millions of rows, written in no order, are read again and again.
    if (is_sqlite) co_await db.exec("pragma cache_size = -1000000");
    auto write = [is_sqlite](db::Transaction& tx) { return fill_tables(tx, is_sqlite); };
    co_await db.transaction(write);
    co_await db.exec("analyze");
    const auto wide = co_await db.one<std::int64_t>("select count(*) from wide_posts");
    const auto follows =
        co_await db.one<std::int64_t>("select count(*) from follows where follower = ?", reader);
    if (*follows != followed || *wide == 0) {
        std::fprintf(stderr, "data_feed: %lld follows, %lld wide posts\n",
                     static_cast<long long>(*follows), static_cast<long long>(*wide));
        co_return 1;
    }
    co_return 0;
}

Task<int> ask(db::Database db, std::size_t queries) {
    tidepool::PostStore store(db);
    std::vector<double> times;
    std::size_t wrong = 0;
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < queries; ++i) {
        const auto begun = Clock::now();
        const tidepool::Posts feed = co_await store.feed(reader, before);
        const std::chrono::duration<double, std::micro> took = Clock::now() - begun;
        times.push_back(took.count());
        if (feed.posts.size() != feed_posts) ++wrong;
        // Page after page, to the tenth, and from the top again.
        const bool again = i % 10 == 9 || feed.posts.empty();
        before = again ? std::numeric_limits<std::int64_t>::max() : feed.posts.back().id;
    }
    std::ranges::sort(times);
    const auto at = [&times](double share) {
        return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
    };
    std::printf("{\"answers\": %zu, \"wrong\": %zu", times.size(), wrong);
    std::printf(", \"p50\": %.1f, \"p99\": %.1f, \"most\": %.1f}\n", at(0.5), at(0.99),
                times.back());
    co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view work = argc > 3 ? argv[3] : "";
    const std::size_t queries = argc == 5 ? std::strtoul(argv[4], nullptr, 10) : 0;
    if (!(work == "fill" && argc == 4) && !(work == "ask" && queries > 0)) {
        std::fputs(
            "usage: data_feed URL MIGRATIONS fill\n"
            "       data_feed URL MIGRATIONS ask QUERIES\n",
            stderr);
        return 2;
    }
    try {
        db::Options options;
        options.connections_max = 1;
        options.statement_timeout = std::chrono::minutes(10);
        const db::Database db = db::open(argv[1], options);
        return tiderace::run(work == "fill" ? fill(db, argv[2]) : ask(db, queries));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "data_feed: %s\n", error.what());
        return 1;
    }
}

// Timelines: the feeds of members, made when something is written, so that reading one costs the
// same whether a member follows five others or five hundred; only the posts of authors with very
// many followers are joined in when it is read.
//
//   a new post --- at most fan_out_max followers --> a row in the timelines of each and its author
//            `---- more of them -------------------> one row in wide_posts; feeds look for it
//   follow     --> the newest `filled` posts of that member come into the timeline
//   unfollow, block --> they leave it
//
// Whether a post is in timelines or in wide_posts is decided once, when it is written; so gaining
// or losing followers rewrites nothing.
//
// Each of these runs inside a transaction that has locked the author (lock_author): a post and a
// follow at the same moment cannot miss each other.
//
// Thread   A loop's, in its tasks.
// Errors   db::Error, thrown.
#pragma once

#include <tiderace/db.h>
#include <tiderace/task.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tidepool {

// Rows that one post may write; the request that posts waits for them.
inline constexpr std::int64_t fan_out_max = 5'000;
// Posts that a follow brings.
inline constexpr std::int64_t filled = 200;
// Posts of one author in wide_posts; older ones are in profiles and searches alone. So a feed reads
// at most as many for each such author whom its member follows.
inline constexpr std::int64_t wide_kept = 100;
// Posts of a timeline. The keeper removes what is below them (keeper.h).
inline constexpr std::int64_t timeline_kept = 500;

// First in its transaction, so that transactions take locks in the same order.
tiderace::Task<> lock_author(tiderace::db::Transaction& tx, tiderace::db::Dialect dialect,
                             std::int64_t author);

// Locks the posts whose numbers `which` selects. In PostgreSQL what likes, answers or deletes
// begins with it, because each changes the count in a post's row after other rows (migration 0008),
// and two of them would wait for each other. They go in the order of the numbers: a post before its
// replies. Members are locked after posts. SQLite has one writer at a time, and MariaDB keeps no
// counts.
tiderace::Task<> lock_posts(tiderace::db::Transaction& tx, tiderace::db::Dialect dialect,
                            std::string which, std::vector<tiderace::db::Value> values);

// A new post that answers none.
tiderace::Task<> put_into_timelines(tiderace::db::Transaction& tx, std::int64_t author,
                                    std::int64_t post, std::int64_t followers_max = fan_out_max);
tiderace::Task<> fill_timeline(tiderace::db::Transaction& tx, tiderace::db::Dialect dialect,
                               std::int64_t member, std::int64_t followee);
tiderace::Task<> clear_timeline(tiderace::db::Transaction& tx, std::int64_t member,
                                std::int64_t author);
// All of them anew, for many posts and follows that were written at once.
tiderace::Task<> rebuild_timelines(tiderace::db::Transaction& tx,
                                   std::int64_t followers_max = fan_out_max);

// A condition on the post `p`: it is among the newest `limit` of a member's feed below `before`.
// in_feed_values() returns its parameters.
std::string in_feed(tiderace::db::Dialect dialect);
std::vector<tiderace::db::Value> in_feed_values(std::int64_t member, std::int64_t before,
                                                std::int64_t limit);

}  // namespace tidepool

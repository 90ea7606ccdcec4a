// Posts: writing and reading them, likes, tags, and what members are notified of.
//
// Every list is a page of page_size, newest first, that continues below the id of its last post:
// new posts do not shift what is older. A member and a blocked one never see each other's posts.
//
// Thread   A loop's, in its tasks.
// Errors   db::Error, thrown.
#pragma once

#include <tiderace/db.h>
#include <tiderace/task.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/tidepool/pages.h"
#include "examples/tidepool/pictures/pictures.h"

namespace tidepool {

// In the place of the post that a page of posts comes before: the first page.
inline constexpr std::int64_t newest = std::numeric_limits<std::int64_t>::max();

class Wakes;

inline constexpr std::int64_t page_size = 20;

inline constexpr std::int64_t depth_max = 10;  // of replies to replies

struct Draft {
    std::string body;
    std::optional<std::int64_t> parent = {};
    Picture picture = {};
    std::string picture_alt = {};
    // The form's token; "": none. The same form with the same text is the same post, however often
    // it is sent.
    std::string form = {};
};

struct Added {
    std::int64_t id;
    std::optional<std::int64_t> parent;  // where it stands: above the draft's, below depth_max
    bool again = false;                  // the form had made it before
};

struct Liked {
    std::int64_t likes;
    bool liked;
};

// Retries of writers that a deadlock may undo.
inline constexpr tiderace::db::TransactionOptions retried{.attempts = 3};

// When what `work` writes refers to a row that was deleted meanwhile, nothing is written, and the
// result is T(): false, or nullopt.
template <typename T>
tiderace::Task<T> unless_gone(tiderace::Task<T> work) {
    try {
        co_return co_await std::move(work);
    } catch (const tiderace::db::Error& error) {
        if (error.kind() != tiderace::db::Fault::foreign_key) throw;
    }
    co_return T();
}

class PostStore {
  public:
    explicit PostStore(tiderace::db::Database db, Wakes* wakes = nullptr);

    // nullopt: the post that it replies to is gone, or hidden from its author.
    tiderace::Task<std::optional<Added>> add(std::int64_t author, Draft draft);
    // False: there is none of that author.
    tiderace::Task<bool> edit(std::int64_t author, std::int64_t id, std::string body);
    // The pictures that went with it; nullopt: there is none of that author. Replies stay.
    tiderace::Task<std::optional<std::vector<std::string>>> remove(std::int64_t author,
                                                                   std::int64_t id);
    // The text of one's own post.
    tiderace::Task<std::optional<std::string>> text(std::int64_t author, std::int64_t id);
    // nullopt: there is no such post. To like twice is to like.
    tiderace::Task<std::optional<Liked>> like(std::int64_t member, std::int64_t id, bool liked);
    tiderace::Task<bool> report(std::int64_t member, std::int64_t id);
    // For moderators, whom no block hides anything from.
    tiderace::Task<Posts> reported(std::int64_t before);
    // The post stays, and its reports go. False: there were none.
    tiderace::Task<bool> dismiss_reports(std::int64_t id);
    // As remove(), of a post that was reported.
    tiderace::Task<std::optional<std::vector<std::string>>> remove_reported(std::int64_t id);

    // `viewer`: 0 is a guest. `before`: posts with a smaller id.
    tiderace::Task<Posts> feed(std::int64_t viewer, std::int64_t before);
    // The id of the newest post of others there; 0: there is none.
    tiderace::Task<std::int64_t> newest_in_feed(std::int64_t viewer);
    tiderace::Task<Posts> of_member(std::int64_t viewer, std::int64_t author, std::int64_t before);
    tiderace::Task<Posts> with_tag(std::int64_t viewer, std::string tag, std::int64_t before);
    tiderace::Task<Posts> with_words(std::int64_t viewer, std::string words, std::int64_t before);
    // Oldest first; `after` an id.
    tiderace::Task<Posts> replies(std::int64_t viewer, std::int64_t parent, std::int64_t after);
    // … to a post that was removed.
    tiderace::Task<Posts> replies_to_gone(std::int64_t viewer, std::int64_t gone,
                                          std::int64_t after);
    tiderace::Task<std::optional<PostView>> find(std::int64_t viewer, std::int64_t id);

  private:
    enum class Order : std::uint8_t { newest_first, oldest_first };

    tiderace::Task<Posts> list(Order order, std::int64_t viewer, std::string where,
                               std::vector<tiderace::db::Value> values);

    // `allowed`: a condition on the post, with `values`.
    tiderace::Task<std::optional<std::vector<std::string>>> remove_where(
        std::int64_t id, std::string allowed, std::vector<tiderace::db::Value> values);

    // One attempt; its members are all that have a notice of it.
    tiderace::Task<std::optional<Added>> write(std::int64_t author, const Draft& draft,
                                               const std::optional<std::string>& form,
                                               std::vector<std::int64_t>& told);
    void wake(const std::vector<std::int64_t>& members) const;

    tiderace::db::Database db_;
    Wakes* wakes_;
    std::string columns_;      // of a PostView, in this database
    std::string not_blocked_;  // a condition behind them; parameters: the viewer, twice
    std::string find_sql_;     // of find()
};

// Adds a post to the index of words, in a database that does not keep it by itself.
tiderace::Task<> index_words(tiderace::db::Transaction& tx, tiderace::db::Dialect dialect,
                             std::int64_t post, const std::string& body);

// The end of an insert that leaves a row alone that is there, by the table's own keys. `key`: a
// column of it. MariaDB counts such a row as changed.
std::string once(tiderace::db::Dialect dialect, std::string_view key);

// For an insert that gives a row its number: what stands before the other columns and values, each
// with its comma. SQLite would give the number of the newest row that is gone to the next one, and
// work under way for a member that leaves would be done for the next one (migration 0006).
struct NewId {
    std::string column;
    std::string value;
};
NewId new_id(tiderace::db::Dialect dialect, std::string_view table);

// The first character of a name, and one of eight colours, instead of a picture.
std::string initial_of(std::string_view name);
std::int64_t hue_of(std::int64_t id);

}  // namespace tidepool

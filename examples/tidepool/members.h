// Members as others see them: profiles, who follows and who blocks whom, search, notifications.
//
// E-mail addresses are in no result and no search.
//
// Thread   A loop's, in its tasks.
// Errors   db::Error, thrown.
#pragma once

#include <tiderace/db.h>
#include <tiderace/task.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/tidepool/pages.h"

namespace tidepool {

inline constexpr std::int64_t people_max = 100;         // on a page of them
inline constexpr std::int64_t notifications_max = 100;  // that are kept of a member

class Members {
  public:
    explicit Members(tiderace::db::Database db) : db_(std::move(db)) {}

    // nullopt: there is none of that name.
    tiderace::Task<std::optional<Profile>> profile(std::int64_t viewer, std::string username);
    // False: there is no such member, it is the viewer, or one of them blocked the other.
    tiderace::Task<bool> follow(std::int64_t viewer, std::string username);
    tiderace::Task<bool> unfollow(std::int64_t viewer, std::string username);
    // Ends the following, both ways.
    tiderace::Task<bool> block(std::int64_t viewer, std::string username);
    tiderace::Task<bool> unblock(std::int64_t viewer, std::string username);
    tiderace::Task<std::vector<Person>> followers(std::int64_t member);
    tiderace::Task<std::vector<Person>> following(std::int64_t member);
    // By a piece of the name or of the user name.
    tiderace::Task<std::vector<Person>> search(std::int64_t viewer, std::string words);

    // Newest first; all of them have been seen afterwards.
    tiderace::Task<std::vector<Notification>> notifications(std::int64_t member,
                                                            const Words& words);

  private:
    tiderace::Task<std::optional<std::int64_t>> other(std::int64_t viewer, std::string username);

    tiderace::db::Database db_;
};

}  // namespace tidepool

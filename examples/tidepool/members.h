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
#include <string_view>
#include <vector>

#include "examples/tidepool/member_pages.h"
#include "examples/tidepool/pages.h"

namespace tidepool {

inline constexpr std::int64_t notifications_max = 100;  // that are kept of a member

class Wakes;

// A page of them.
struct People {
    std::vector<Person> people;
    std::string next = {};  // "": the list ends
};

class Members {
  public:
    explicit Members(tiderace::db::Database db, Wakes* wakes = nullptr)
        : db_(std::move(db)), wakes_(wakes) {}

    // nullopt: there is none of that name, or that member blocked the viewer.
    tiderace::Task<std::optional<Profile>> profile(std::int64_t viewer, std::string username);
    // False: there is no such member, it is the viewer, or one of them blocked the other.
    tiderace::Task<bool> follow(std::int64_t viewer, std::string username);
    tiderace::Task<bool> unfollow(std::int64_t viewer, std::string username);
    // Ends the following, both ways.
    tiderace::Task<bool> block(std::int64_t viewer, std::string username);
    // Their posts leave the muter's feed and their doings give no notice; they do not learn of it.
    tiderace::Task<bool> mute(std::int64_t viewer, std::string username);
    tiderace::Task<bool> unmute(std::int64_t viewer, std::string username);
    tiderace::Task<bool> unblock(std::int64_t viewer, std::string username);
    // The latest first, from where `from` (the `next` of a page; "": the beginning) ends.
    tiderace::Task<People> followers(std::int64_t viewer, std::int64_t member, std::string from);
    tiderace::Task<People> following(std::int64_t viewer, std::int64_t member, std::string from);
    // By user name, after `from`; shown to the member only.
    tiderace::Task<People> muted(std::int64_t member, std::string from);
    tiderace::Task<People> blocked(std::int64_t member, std::string from);
    // By a piece of the name or of the user name.
    tiderace::Task<std::vector<Person>> search(std::int64_t viewer, std::string words);

    // Newest first; all of them have been seen afterwards.
    tiderace::Task<std::vector<Notification>> notifications(std::int64_t member,
                                                            const Words& words);

    // "Bob likes your post": the latest that was not seen. "": none.
    tiderace::Task<std::string> latest_notice(std::int64_t member, const Words& words);

  private:
    tiderace::Task<People> people(std::string_view whom, std::string_view of, std::int64_t viewer,
                                  std::int64_t member, std::string from);
    tiderace::Task<People> hidden(std::string_view list, std::int64_t member, std::string from);
    tiderace::Task<std::optional<std::int64_t>> other(std::int64_t viewer, std::string username);

    tiderace::db::Database db_;
    Wakes* wakes_;
};

}  // namespace tidepool

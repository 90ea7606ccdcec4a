#include "examples/tidepool/keeper.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "examples/tidepool/site.h"
#include "examples/tidepool/timelines.h"

namespace tidepool {

using namespace tiderace;
using namespace std::chrono_literals;

namespace {

constexpr Duration round = 60s;
constexpr int rounds_of_picture_sweep = 60;
constexpr std::size_t names_of_query = 200;

// Pictures that no row refers to: an upload that was broken off, a process that ended between a
// commit and the removal of its files.
Task<std::vector<std::string>> unknown_of(db::Database& db, std::vector<std::string> names) {
    std::string marks;
    std::vector<db::Value> values;
    for (const std::string& name : names) {
        marks += marks.empty() ? "?" : ", ?";
        values.emplace_back(name);
    }
    const auto known = co_await db.all<std::string>(
        "select picture from posts where picture in (" + marks +
            ") union select face from members where face in (" + marks + ")",
        values, values);
    std::erase_if(names, [&](const std::string& name) {
        return std::ranges::find(known, name) != known.end();
    });
    co_return names;
}

Task<> keep(db::Database db, Site& site) {
    std::int64_t member = 0;
    for (int rounds = 0;; ++rounds) {
        co_await sleep(round);
        // Some members a round, and the next ones in the next: a round over all of them would hold
        // up a large database.
        member = co_await trim_timelines(db, member, timeline_kept);
        co_await site.limits.sweep();
        if (rounds % rounds_of_picture_sweep == 0) {
            co_await sweep_pictures(db, site.pictures, picture_age_min);
        }
    }
}

}  // namespace

Task<std::int64_t> trim_timelines(db::Database db, std::int64_t member, std::int64_t kept) {
    const auto members = co_await db.all<std::int64_t>(
        "select id from members where id > ? order by id limit ?", member, members_of_round);
    for (const std::int64_t each : members) {
        // The newest that goes. With its number the delete works without an order, which databases
        // write differently.
        const auto last = co_await db.one<std::int64_t>(
            "select post from timelines where member = ? order by post desc limit 1 offset ?", each,
            kept);
        if (!last) continue;
        co_await db.exec("delete from timelines where member = ? and post <= ?", each, *last);
    }
    const bool more = members.size() == static_cast<std::size_t>(members_of_round);
    co_return more ? members.back() : 0;
}

Task<std::size_t> sweep_pictures(db::Database db, Pictures& pictures, std::chrono::seconds age) {
    // Not the new ones: a picture is stored before the post that refers to it.
    const std::vector<std::string> files = co_await pictures.older_than(age);
    std::size_t swept = 0;
    for (std::size_t from = 0; from < files.size(); from += names_of_query) {
        const std::size_t to = std::min(from + names_of_query, files.size());
        const auto first = files.begin() + static_cast<std::ptrdiff_t>(from);
        std::vector<std::string> some(first, files.begin() + static_cast<std::ptrdiff_t>(to));
        std::vector<std::string> unknown = co_await unknown_of(db, std::move(some));
        swept += unknown.size();
        co_await pictures.remove(std::move(unknown));
    }
    co_return swept;
}

void add_keeper(http::App& app, const db::Database& db) {
    // Once in each process. Several nodes may do the same at a time, which is wasted and does no
    // harm.
    app.background([db](Site& site) { return keep(db, site); },
                   {.restart = 60s, .restart_max = 60s});
}

}  // namespace tidepool

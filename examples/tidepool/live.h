// Live notices: news that an open page receives at once, over a WebSocket or, where a proxy allows
// none, over an event stream. Without scripts the next page has it all.
//
//   Wakes -> look: the log-in, unseen notices, the newest post of the feed -> what changed -> page
//
// A slow page gets the latest state when it reads again, never a list of old ones.
//
// Limits   Wakes: pages of a loop and of a member. Four pages of a loop look at a time. A page
//          looks at most twice a second, and every half minute without being woken.
#pragma once

#include <tiderace/app.h>
#include <tiderace/db.h>
#include <tiderace/websocket.h>

namespace tidepool {

struct Site;

// Close codes of a socket that we close.
inline constexpr std::uint16_t close_logged_out = 4401;
inline constexpr std::uint16_t close_too_many = 1013;

// GET /live, a WebSocket or an event stream, and the chores of Wakes.
void add_live_routes(tiderace::http::App& app, const tiderace::db::Database& db);

}  // namespace tidepool

#include "examples/tidepool/live.h"

#include <tiderace/json.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "examples/tidepool/site.h"
#include "examples/tidepool/wakes.h"

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;
using namespace std::chrono_literals;

namespace {

constexpr Duration longest_wait = 30s;
constexpr Duration shortest_wait = 500ms;
constexpr Duration wait_after_fault = 2s;

// The form in which the page receives it.
struct News {
    std::optional<std::int64_t> unseen = {};
    std::optional<std::string> what = {};  // the latest of the notices
    std::optional<bool> posts = {};        // the feed has new ones
};

struct Known {
    std::int64_t unseen = -1;
    std::int64_t newest = -1;
};

struct Looked {
    bool logged_in = true;
    bool failed = false;
    News news = {};

    bool has_news() const { return news.unseen || news.posts; }
    Duration pause() const { return failed ? wait_after_fault : longest_wait; }
};

Task<Looked> look_once(Site& site, std::string login, Known& known, const Words& words) {
    Looked looked;
    const auto viewer = co_await site.accounts.viewer(std::move(login));
    if (!viewer) {
        looked.logged_in = false;
        co_return looked;
    }
    const std::int64_t newest = co_await site.posts.newest_in_feed(viewer->id);
    const std::int64_t unseen_before = std::exchange(known.unseen, viewer->unseen);
    const std::int64_t newest_before = std::exchange(known.newest, newest);
    // The first look reports the number and no more: the page has just been made with the same
    // notices.
    if (unseen_before != viewer->unseen) looked.news.unseen = viewer->unseen;
    // Fewer is news as well (another page has shown them), but nothing to announce.
    if (unseen_before >= 0 && viewer->unseen > unseen_before) {
        looked.news.what = co_await site.members.latest_notice(viewer->id, words);
    }
    if (newest_before >= 0 && newest > newest_before) looked.news.posts = true;
    co_return looked;
}

// A database that is away is no reason to end: the page is notified when it is back.
Task<Looked> look(Site& site, std::string login, Known& known, const Words& words) {
    // Few at a time: after a wake for all, thousands of pages would take every connection of the
    // pool.
    const auto turn = co_await site.looking.acquire();
    Looked looked;
    try {
        looked = co_await look_once(site, std::move(login), known, words);
    } catch (const db::Error&) {
        looked.failed = true;
    }
    co_return looked;
}

// A page sends nothing.
Task<> only_listen(WebSocket& socket) {
    const auto message = co_await socket.receive();
    if (message) socket.close(1008, "nothing is expected here");
}

Task<> tell(WebSocket& socket, Wakes::Seat& seat, std::string login, const Words& words,
            Site& site) {
    Known known;
    while (socket.open()) {
        const Looked looked = co_await look(site, login, known, words);
        if (!looked.logged_in) {
            socket.close(close_logged_out, "logged out");
            break;
        }
        if (looked.has_news()) {
            const std::string text = json::write(looked.news);
            if (!co_await socket.send(text)) break;
        }
        // Wakes that come meanwhile leave one mark at the seat, so a burst of likes is one look.
        co_await sleep(shortest_wait);
        co_await seat.wait(looked.pause());
    }
}

Task<> live_socket(WebSocket& socket, const Request& request, Session session, Site& site) {
    const Words& words = words_in(language_of(request, session));
    const std::string login(session.get("login"));
    const auto viewer = co_await site.accounts.viewer(login);
    if (!viewer) co_return socket.close(close_logged_out, "logged out");
    Wakes::Seat seat(site.wakes, viewer->id);
    if (!seat.is_free()) co_return socket.close(close_too_many, "too many pages are open");
    // Without a read, the close of the peer would be noticed by the next message alone.
    auto listening = only_listen(socket);
    auto telling = tell(socket, seat, login, words, site);
    co_await when_any(std::move(listening), std::move(telling));
}

Events live_events(const Request& request, Session session, Site& site) {
    const Words& words = words_in(language_of(request, session));
    const std::string login(session.get("login"));
    const auto viewer = co_await site.accounts.viewer(login);
    Wakes::Seat seat(site.wakes, viewer ? viewer->id : 0);
    Known known;
    while (viewer && seat.is_free()) {
        const Looked looked = co_await look(site, login, known, words);
        if (!looked.logged_in) break;
        const std::string text = json::write(looked.news);
        Event event;
        if (looked.has_news()) {
            event.data = text;
        } else {
            event.comment = "nothing new";  // a browser that has gone is noticed
        }
        co_yield event;
        co_await sleep(shortest_wait);
        co_await seat.wait(looked.pause());
    }
    // Browsers come again by themselves, as soon as they are allowed to.
    const Event over{.data = "{}", .event = "over", .retry_ms = 60'000};
    co_yield over;
}

}  // namespace

void add_live_routes(App& app, const db::Database& db) {
    app.ws<"/live">(live_socket, {.message_bytes_max = 1_KiB, .queue_bytes_max = 16_KiB});
    app.get<"/live/events">(live_events);
    app.background([db](Site& site) { return site.wakes.find_followers(db); },
                   {.each_loop = true, .restart = 1s});
    app.background([](Site& site) { return site.wakes.send(); },
                   {.each_loop = true, .restart = 1s});
    app.background([](Site& site) { return Wakes::receive(site.hub); }, {.restart = 1s});
}

}  // namespace tidepool

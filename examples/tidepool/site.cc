#include "examples/tidepool/site.h"

#include <memory>
#include <string_view>

#include "examples/tidepool/sessions.h"

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;
using namespace std::chrono_literals;

namespace {

std::string_view language_of(const Request& request, const Session& session) {
    const std::string_view chosen = session.get("language");
    return chosen.empty() ? request.field("Accept-Language") : chosen;
}

}  // namespace

Task<Visitor> Visitor::of(Site& site, Session session, const Request& request) {
    Visitor visitor;
    visitor.frame_.words = &words_in(language_of(request, session));
    visitor.frame_.path = request.path;
    visitor.frame_.pictures = site.pictures.on();
    visitor.frame_.csrf = session.get("csrf");
    if (!session.has("login")) co_return visitor;
    visitor.frame_.viewer = co_await site.accounts.viewer(std::string(session.get("login")));
    if (visitor.is_member()) visitor.frame_.unseen = visitor.viewer().unseen;
    co_return visitor;
}

Frame Visitor::frame_with(std::string notice) const {
    Frame frame = frame_;
    frame.notice = std::move(notice);
    return frame;
}

Frame Visitor::frame_for_search(std::string query) const {
    Frame frame = frame_;
    frame.query = std::move(query);
    return frame;
}

bool Visitor::sent(std::string_view csrf) const {
    return equals_in_constant_time(frame_.csrf, csrf);
}

Page not_found(const Visitor& visitor) {
    const Words& words = visitor.words();
    return page<"fault.html">(FaultPage{visitor.frame(), std::string(words.fault.not_found),
                                        std::string(words.fault.not_found_more)},
                              Reply(404));
}

Page refused(const Visitor& visitor) {
    const Words& words = visitor.words();
    return page<"fault.html">(FaultPage{visitor.frame(), std::string(words.fault.refused),
                                        std::string(words.fault.refused_more)},
                              Reply(403));
}

Redirect to_log_in() {
    return {"/log-in"};
}

Redirect to_post(const Added& added) {
    if (!added.parent) return {"/"};
    return {"/posts/" + std::to_string(*added.parent) + "#post-" + std::to_string(added.id)};
}

std::string own_path(const std::string& path) {
    const bool ours = path.starts_with('/') && !path.starts_with("//") &&
                      path.find_first_of("\\\r\n") == std::string::npos;
    return ours ? path : "/";
}

std::string notice_named(std::string_view name, const Words& words) {
    if (name == "saved") return std::string(words.post.saved);
    if (name == "reported") return std::string(words.post.reported);
    if (name == "password") return std::string(words.settings.password_changed);
    return {};
}

namespace {

// The database is polled, because a bus in this process would miss the events of other nodes.
constexpr Duration live_pause = 3s;
constexpr std::size_t live_streams_max = 2'000;  // of a loop

class LiveSeat {
  public:
    explicit LiveSeat(std::size_t& taken) : taken_(taken) { ++taken_; }
    ~LiveSeat() { --taken_; }
    LiveSeat(const LiveSeat&) = delete;
    LiveSeat& operator=(const LiveSeat&) = delete;
    bool is_free() const { return taken_ <= live_streams_max; }

  private:
    std::size_t& taken_;
};

Task<bool> answers(db::Database db) {
    try {
        co_return (co_await db.one<std::int64_t>("select 1")).has_value();
    } catch (const db::Error&) {
        co_return false;
    }
}

}  // namespace

Events live(Session session, Site& site) {
    const LiveSeat seat(site.live_streams);
    const std::string login(session.get("login"));
    std::int64_t unseen = -1;
    std::int64_t newest = -1;
    while (seat.is_free() && !login.empty()) {
        const auto viewer = co_await site.accounts.viewer(login);
        if (!viewer) break;  // logged out, here or elsewhere
        if (std::exchange(unseen, viewer->unseen) != viewer->unseen) {
            const std::string data = std::to_string(viewer->unseen);
            const Event event{.data = data, .event = "unseen"};
            co_yield event;
        }
        const std::int64_t newest_now = co_await site.posts.newest_in_feed(viewer->id);
        const std::int64_t known = std::exchange(newest, newest_now);
        if (known >= 0 && newest_now > known) {
            const Event event{.data = "new", .event = "posts"};
            co_yield event;
        }
        co_await sleep(live_pause);
    }
}

App make_app(db::Database db, const std::string& folder, const std::string& pictures) {
    App app;
    app.state<Site>(
        [db, pictures](core::EventLoop&) { return std::make_unique<Site>(db, pictures); });
    app.templates(folder + "/templates");
    app.use(request_ids())
        .use(security_headers())
        .use(cross_origin())
        .use(sessions(std::make_shared<DbSessions>(db)));
    app.files("/static", folder + "/static");
    // For balancers: a node that is cut off from the database gets no requests until it is back.
    app.health("/healthz");
    app.ready("/readyz", [db](const Request&) { return answers(db); }, 2s);
    add_account_routes(app);
    add_post_routes(app);
    add_member_routes(app);
    add_picture_routes(app, pictures);
    add_settings_routes(app);
    app.get<"/live">(live);
    app.get<"/about">([](const Request& request, Session session, Site& site) -> Task<Page> {
        const Visitor visitor = co_await Visitor::of(site, session, request);
        co_return page<"about.html">(AboutPage{visitor.frame()});
    });
    app.get<"/{path...}">(
        [](std::string_view, const Request& request, Session session, Site& site) -> Task<Page> {
            const Visitor visitor = co_await Visitor::of(site, session, request);
            co_return not_found(visitor);
        });
    return app;
}

}  // namespace tidepool

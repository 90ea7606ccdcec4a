#include "examples/tidepool/site.h"

#include <tiderace/http/stores/redis_sessions.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "examples/tidepool/keeper.h"
#include "examples/tidepool/live.h"
#include "examples/tidepool/post_text.h"
#include "examples/tidepool/sessions.h"

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;
using namespace std::chrono_literals;

std::string_view language_of(const Request& request, const Session& session) {
    const std::string_view chosen = session.get("language");
    return chosen.empty() ? request.header("Accept-Language") : chosen;
}

namespace {

// As it came, because own_path() rejects any other. The page that shows what is wrong with a form
// has the form's address, which is none to come back to.
std::string back_to(const Request& request) {
    const std::string_view path = request.raw_path;
    if (request.method() == wire::Method::get || request.method() == wire::Method::head) {
        return std::string(path) + (request.has_query ? "?" + std::string(request.query) : "");
    }
    if (path.starts_with("/settings")) return "/settings";
    if (path.starts_with("/reports")) return "/reports";
    if (path == "/posts/with-picture" || path == "/posts" || path == "/log-out") return "/";
    if (path.ends_with("/edit")) return std::string(path);
    // A press: "/posts/7/like", "/members/ann/follow".
    if (path.starts_with("/posts/") || path.starts_with("/members/")) {
        return std::string(path.substr(0, path.rfind('/')));
    }
    return std::string(path);
}

}  // namespace

Frame Visitor::frame_with(std::string notice) const {
    Frame frame = frame_;
    frame.notice = std::move(notice);
    return frame;
}

Frame Visitor::take_frame(std::string notice) && {
    frame_.notice = std::move(notice);
    return std::move(frame_);
}

Frame Visitor::frame_for_search(std::string query) const {
    Frame frame = frame_;
    frame.query = std::move(query);
    return frame;
}

bool Visitor::sent(std::string_view csrf) const {
    // Not empty: a session without a token would otherwise take a form without one.
    return !frame_.csrf.empty() && equals_in_constant_time(frame_.csrf, csrf);
}

Page not_found(const Visitor& visitor, std::string draft) {
    const Words& words = visitor.words();
    return page<"fault.html">(FaultPage{visitor.frame(), std::string(words.fault.not_found),
                                        std::string(words.fault.not_found_more), std::move(draft)},
                              Response(404));
}

Page refused(const Visitor& visitor) {
    const Words& words = visitor.words();
    return page<"fault.html">(FaultPage{visitor.frame(), std::string(words.fault.refused),
                                        std::string(words.fault.refused_more)},
                              Response(403));
}

Redirect to_log_in(const Visitor& visitor) {
    return {"/log-in?back=" + escaped(visitor.frame().back)};
}

Page log_in_with(const Visitor& visitor, std::string path, std::string text) {
    return page<"log_in.html">(LogInPage{.frame = visitor.frame(),
                                         .back = std::move(path),
                                         .draft = std::move(text),
                                         .fault = std::string(visitor.words().form.logged_out)},
                               Response(403));
}

// The second is sent to origins that a browser trusts: TLS, also where a proxy in front of us has
// it and does not report it, and this computer.
bool keeps_no_log_in(const Request& request) {
    if (request.secure || !request.header("Sec-Fetch-Site").empty()) return false;
    const std::string_view host = request.authority;
    const auto is = [&](std::string_view name) {
        return host == name || (host.starts_with(name) && host[name.size()] == ':');
    };
    return !is("localhost") && !is("127.0.0.1") && !is("[::1]");
}

Redirect to_post(const Added& added) {
    if (!added.parent) return {"/"};
    return {"/posts/" + std::to_string(*added.parent) + "#post-" + std::to_string(added.id)};
}

std::string own_path(const std::string& path) {
    // Browsers drop tabs and line ends from an address before they read it.
    const auto is_plain = [](char c) { return c > ' ' && c < '\x7F' && c != '\\'; };
    const bool ours =
        path.starts_with('/') && !path.starts_with("//") && std::ranges::all_of(path, is_plain);
    return ours ? path : "/";
}

std::string notice_named(std::string_view name, const Words& words) {
    if (name == "saved") return std::string(words.post.saved);
    if (name == "reported") return std::string(words.post.reported);
    if (name == "password") return std::string(words.settings.password_changed);
    return {};
}

namespace {

Task<bool> answers(db::Database db) {
    try {
        co_return (co_await db.one<std::int64_t>("select 1")).has_value();
    } catch (const db::Error&) {
        co_return false;
    }
}

struct ErrorWords {
    std::string_view title;
    std::string_view explanation;
};

ErrorWords words_for(int status, const FaultWords& words) {
    if (status == 404) return {words.not_found, words.not_found_more};
    if (status == 429) return {words.busy, words.busy_more};
    if (status == 503) return {words.away, words.away_more};
    if (status >= 500) return {words.broken, words.broken_more};
    return {words.refused, words.refused_more};
}

// The database, which takes only text, is searched for the names and tags in an address.
std::optional<Problem> only_text(const Request& request) {
    if (is_text(request.path)) return std::nullopt;
    return Problem{.status = 400, .detail = "the path is not UTF-8"};
}

// The library's own answers, in our look. The session is not read, because the
// database that has it may be what is missing.
Page error_page(const ErrorAnswer& error) {
    Frame frame{.words = &words_in(error.request.header("Accept-Language")),
                .viewer = std::nullopt,
                .csrf = {},
                .path = std::string(error.request.path)};
    frame.outage = true;
    const ErrorWords words = words_for(error.status, frame.words->fault);
    return page<"fault.html">(
        FaultPage{std::move(frame), std::string(words.title), std::string(words.explanation)});
}

}  // namespace

App make_app(db::Database db, const std::string& folder, const std::string& pictures, Bus bus,
             Moderators moderators) {
    App app;
    std::shared_ptr<SessionStore> store = std::make_shared<ViewerSessions>(db);
    if (bus.redis) store = std::make_shared<RedisSessions>(*bus.redis, "tidepool:session:");
    const auto hub = std::make_shared<WakeHub>(std::move(bus));
    const auto judges = std::make_shared<const Moderators>(std::move(moderators));
    app.state<Site>([db, pictures, hub, judges](core::EventLoop& loop) {
        return std::make_unique<Site>(loop, db, pictures, hub, judges);
    });
    app.templates(folder + "/templates");
    app.error_page(error_page);
    // From the outside in: what is refused early costs no session.
    app.use(request_ids())
        .use(security_headers())
        .use(cross_origin())
        .use(only_text)
        .use(sessions(std::move(store)));
    app.files("/static", folder + "/static");
    // For balancers: a node that is cut off from the database gets no requests until it is back.
    app.health("/healthz");
    app.ready("/readyz", [db](const Request&) { return answers(db); }, 2s);
    add_account_routes(app);
    add_post_routes(app);
    add_member_routes(app);
    add_picture_routes(app, pictures);
    add_report_routes(app);
    add_settings_routes(app);
    add_live_routes(app, db);
    add_keeper(app, db);
    app.get<"/about">([](Visitor visitor) {
        return page<"about.html">(AboutPage{std::move(visitor).take_frame()});
    });
    // The 404 of a member has their name and language; the error page cannot have them.
    app.get<"/{path...}">([](std::string_view, Visitor visitor) { return not_found(visitor); });
    return app;
}

}  // namespace tidepool

namespace tiderace::http {

using tidepool::Frame;
using tidepool::Member;
using tidepool::Moderator;
using tidepool::Viewer;
using tidepool::Visitor;

Task<Visitor> FromRequest<Visitor>::from(tidepool::Site& site, Session session,
                                         const Request& request) {
    Frame frame{.words = &tidepool::words_in(tidepool::language_of(request, session)),
                .viewer = std::nullopt,
                .csrf = std::string(session.get("csrf")),
                .path = std::string(request.path)};
    frame.back = tidepool::back_to(request);
    frame.pictures = site.pictures.on();
    // For each page anew: by it a form that comes twice is known (PostStore::add).
    frame.form = site.forms.next();
    // A guest costs no query, and a member most times none but the session's.
    if (!session.has("login")) co_return Visitor(std::move(frame));
    const std::string_view login = session.get("login");
    const Viewer* const known = session.attached<Viewer>();
    if (known != nullptr && known->login == login) {
        frame.viewer = *known;
        co_await site.accounts.note_use(*known);
    } else {
        frame.viewer = co_await site.accounts.viewer(std::string(login));
    }
    if (frame.viewer) {
        frame.unseen = frame.viewer->unseen;
        frame.moderator = site.moderators->contains(frame.viewer->username);
    }
    co_return Visitor(std::move(frame));
}

std::expected<Member, Redirect> FromRequest<Member>::from(Visitor visitor) {
    if (!visitor.is_member()) return std::unexpected(tidepool::to_log_in(visitor));
    return Member{std::move(visitor)};
}

std::expected<Moderator, Page> FromRequest<Moderator>::from(Visitor visitor) {
    if (!visitor.is_moderator()) return std::unexpected(tidepool::not_found(visitor));
    return Moderator{std::move(visitor)};
}

}  // namespace tiderace::http

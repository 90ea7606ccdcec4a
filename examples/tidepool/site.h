// Site: what the handlers of one loop share, and how they identify the visitor.
//
//   request -> session (cookie, database) -> its log-in -> Visitor: member or guest, language,
//                                                           token against forged forms
//
// Owner    The App, one for each loop.
// Thread   The loop's.
#pragma once

#include <tiderace/app.h>
#include <tiderace/db.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "examples/tidepool/accounts.h"
#include "examples/tidepool/limits.h"
#include "examples/tidepool/members.h"
#include "examples/tidepool/names.h"
#include "examples/tidepool/pages.h"
#include "examples/tidepool/pictures/pictures.h"
#include "examples/tidepool/posts.h"
#include "examples/tidepool/wakes.h"

namespace tidepool {

using tiderace::http::Page;
using tiderace::http::Redirect;

// The user names of the members that see reported posts.
using Moderators = std::set<std::string, std::less<>>;

// The result of most handlers.
using Answer = std::expected<Page, Redirect>;

struct Site {
    Site(tiderace::core::EventLoop& loop, tiderace::db::Database db, std::string pictures_folder,
         std::shared_ptr<WakeHub> wake_hub, std::shared_ptr<const Moderators> judges)
        : hub(std::move(wake_hub)),
          wakes(loop, hub),
          pictures(std::move(pictures_folder)),
          limits(loop, db, hub->bus().redis),
          accounts(db, passwords),
          members(db, &wakes),
          posts(std::move(db), &wakes),
          moderators(std::move(judges)) {}

    std::shared_ptr<WakeHub> hub;
    Wakes wakes;
    tiderace::Semaphore looking{4};  // open pages at a time (live.h)
    tiderace::password::Hasher passwords;
    FormNames forms;
    Pictures pictures;
    SharedLimits limits;
    Accounts accounts;
    Members members;
    PostStore posts;
    std::shared_ptr<const Moderators> moderators;
};

// The visitor of one request. Handlers take one, or what is made of one: Member, Moderator, Sent.
class Visitor {
  public:
    explicit Visitor(Frame frame) : frame_(std::move(frame)) {}

    bool is_member() const { return frame_.viewer.has_value(); }
    bool is_moderator() const { return frame_.moderator; }
    // 0: a guest.
    std::int64_t id() const { return frame_.viewer ? frame_.viewer->id : 0; }
    const Viewer& viewer() const { return *frame_.viewer; }
    const Words& words() const { return *frame_.words; }
    const Frame& frame() const { return frame_; }
    Frame frame_with(std::string notice) const;
    // Instead of a copy, where nothing else needs the visitor any more.
    Frame take_frame(std::string notice = {}) &&;
    Frame frame_for_search(std::string query) const;
    // Whether a form came from one of our pages: beside the check of its origin, which no browser
    // of today lacks, the token that only our pages know.
    bool sent(std::string_view csrf) const;

  private:
    Frame frame_;
};

// A visitor that is logged in; a guest is sent to the log-in.
struct Member : Visitor {};
// For any other visitor the page does not exist.
struct Moderator : Visitor {};

// A form of `By`, from one of our pages; any other is refused.
template <typename F, typename By = Member>
struct Sent {
    By visitor;
    F form;
};

// As the visitor chose it, or else as the browser requests it.
std::string_view language_of(const tiderace::http::Request& request,
                             const tiderace::http::Session& session);

Page not_found(const Visitor& visitor, std::string draft = {});
Page refused(const Visitor& visitor);
// The visitor's text for a page: "/" a post, "/posts/7" a reply, "/posts/7/edit" a new text.
struct Unsent {
    std::string text;
    std::string fault = {};  // what is wrong with it
    int status = 200;
};

// To the log-in, and back to the page where the visitor pressed.
Redirect to_log_in(const Visitor& visitor);
// The log-in, at once: a log-in that ended meanwhile drops the text. `path`: as of Unsent.
Page log_in_with(const Visitor& visitor, std::string path, std::string text);
// Whether the browser will drop the session's cookie, which is for TLS and for this computer alone.
bool keeps_no_log_in(const tiderace::http::Request& request);
// Where a new post is seen.
Redirect to_post(const Added& added);

// A path of this site that a form names to come back to; "/" for anything else: //other.example is
// another site, and so are /\other.example and a "/", a tab and "/other.example".
std::string own_path(const std::string& path);

// Notices that a redirect carries in its query, by name, so that no text of a stranger's is shown.
std::string notice_named(std::string_view name, const Words& words);

// Where a page of a list begins: below this post's number, or behind this person's place.
struct BeforePost {
    std::optional<std::int64_t> before;
};
struct FromPerson {
    std::optional<std::string> from;
};

// The form of a button alone.
struct PressForm {
    std::string csrf;
};

// A form that changes something by one press, within the limits of that.
template <tiderace::http::route::RoutePattern pattern, typename F>
void add_press(tiderace::http::App& app, F handler) {
    app.post<pattern>(std::move(handler), tiderace::http::rate_limit(press_rate),
                      shared_rate_limit("press", press_rate));
}

void add_account_routes(tiderace::http::App& app);
void add_post_routes(tiderace::http::App& app);
void add_member_routes(tiderace::http::App& app);
void add_picture_routes(tiderace::http::App& app, const std::string& folder);
void add_report_routes(tiderace::http::App& app);
void add_settings_routes(tiderace::http::App& app);

// The page for a text that was not taken, with the text in its form; 404 with the text where that
// page is not there for the visitor. `path`: as of Unsent; any other is "/".
tiderace::Task<Page> unsent_page(Site& site, Visitor visitor, std::string path, Unsent unsent);
// The path of Unsent, for a post or a reply.
std::string path_of_form(std::optional<std::int64_t> parent);

tiderace::Task<Page> settings_page(Site& site, const Visitor& visitor, Frame frame,
                                   std::string fault, int status);

// All of Tidepool: its pages, its files, and who may do what. `folder` has templates and static
// files; `pictures` is made where it is missing; "": no pictures. `bus`: to the other nodes that
// share the database; its Redis also keeps sessions and rate limits.
// No name in `moderators` can be signed up for: register it before it is listed.
tiderace::http::App make_app(tiderace::db::Database db, const std::string& folder,
                             const std::string& pictures = {}, Bus bus = {},
                             Moderators moderators = {});

}  // namespace tidepool

template <>
struct tiderace::http::FromRequest<tidepool::Visitor> {
    static Task<tidepool::Visitor> from(tidepool::Site& site, Session session,
                                        const Request& request);
};
template <>
struct tiderace::http::FromRequest<tidepool::Member> {
    static std::expected<tidepool::Member, Redirect> from(tidepool::Visitor visitor);
};
template <>
struct tiderace::http::FromRequest<tidepool::Moderator> {
    static std::expected<tidepool::Moderator, Page> from(tidepool::Visitor visitor);
};
template <typename F, typename By>
struct tiderace::http::FromRequest<tidepool::Sent<F, By>> {
    static std::expected<tidepool::Sent<F, By>, Page> from(By visitor, Form<F> form) {
        if (!visitor.sent(form->csrf)) return std::unexpected(refused(visitor));
        return tidepool::Sent<F, By>{std::move(visitor), *std::move(form)};
    }
};

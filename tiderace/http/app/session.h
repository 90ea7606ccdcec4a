// Session: what the server remembers of one browser, under an id that only that browser has.
//
//   app.use(sessions(std::make_shared<MemorySessions>()));
//   app.post<"/login">([](Form<Login> form, Session session) -> Task<Redirect> {
//       …
//       co_await session.renew();                        // a new id: an old one may be known
//       co_await session.set("user", form->name);        // kept when this returns
//       co_return Redirect{"/"};
//   });
//   app.get<"/">([](Session session) { return std::string(session.get("user")) + "\n"; });
//   app.group("/mine").use(signed_in("user", Redirect{"/login"}));
//   app.post<"/logout">([](Session session) -> Task<> { co_await session.end(); });
//
//   Cookie -> id -> hash -> store -> values -> handler -> store -> answer, with Set-Cookie
//
// The id is 256 bits of the system's randomness, in a cookie that is HttpOnly, Secure, SameSite=Lax
// and called "__Host-id"; the store has its SHA-256 alone. An id
// that the store does not know is never taken over. A visitor has no session, no cookie and no
// entry in the store before the first set(). Answers of handlers that take a Session are this
// browser's alone: "Cache-Control: private, no-cache", unless the handler set a Cache-Control.
//
// Two requests of one session at a time: each value is the one that was set last, and what only
// one of them has set or erased stays so. A set() of the value that the request has read writes
// nothing. A session that one has ended, by end() or renew(), does not come back by the other; a
// renew() takes along what the other has set meanwhile.
//
// Owner    The request; copies are the same session.
// Thread   The loop's. One task at a time.
// Errors   What the store throws; a TransientError is answered 503. Without sessions() before a
//          route that takes one, an App does not serve.
//          set() and erase() of a session that another request has ended meanwhile: 409, thrown as
//          a Problem; it has no values then, and the browser keeps its cookie, which may be new.
// Limits   SessionStore::data_bytes_max for all values; above: 413, thrown as a Problem.
// Keywords: session, login, session id
#pragma once

#include <any>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/http/app/middleware.h"
#include "tiderace/http/app/session_store.h"

namespace tiderace::http {

struct SessionOptions {
    // After the last use, or earlier by a part of it: a use that comes sooner than that after the
    // last writing writes nothing and sends nothing.
    static constexpr int slides = 24;
    Duration lifetime = std::chrono::hours(24 * 14);
    // False for a site in plain HTTP on another host than localhost: then the cookie is "id", and
    // everyone on the way can read it.
    bool secure = true;
};

// Before the routes that take a Session.
Middleware sessions(std::shared_ptr<SessionStore> store, SessionOptions options = {});

class Session;

namespace app_parts {
// The secret under the tokens of csrf(): the session's where there is one. Before that it is the
// browser's own, in a cookie "__Host-csrf" that no other site can set, so that anonymous visitors
// fill no store. The first set() takes it over; renew() and end() forget it.
std::string csrf_secret(const Session& session);  // "": none, or not one of ours
task::Task<std::string> ensure_csrf_secret(Session session);
}  // namespace app_parts

class Session final {
  public:
    class Record;
    explicit Session(core::Ref<Attachment> record) : record_(std::move(record)) {}

    // "": not set. Valid until the next set(), erase(), renew() or end().
    std::string_view get(std::string_view name) const;
    bool has(std::string_view name) const;
    // It is in the store, or was made by set().
    bool exists() const;
    // The value that the store read along with the session, at the same moment
    // (SessionStore::Found). nullptr: another type, or no value; the request has changed the
    // session; or it is neither GET nor HEAD, because the user may log out elsewhere while its body
    // comes in. Valid as long as a value.
    template <typename T>
    const T* attached() const {
        return std::any_cast<T>(&attachment());
    }

    // Kept in the store when they return. When they throw, or are cancelled, the values are as
    // before.
    task::Task<> set(std::string name, std::string value);
    task::Task<> erase(std::string name);
    // The same values under a new id; the old one is gone, and so are the tokens of csrf(). At each
    // log-in, and when rights change. Without a session, only the tokens go. Without values if
    // another request has ended the session meanwhile. When it throws, either the old id could not
    // be erased, and stays valid with the values that the store has, or it is gone and the new one
    // could not be saved: then the browser has no session any more. Nothing is saved under the old
    // id in either case: a later set() of the same request ends it first, and makes a new one.
    task::Task<> renew();
    // Removes it from the store, and the cookie from the browser. At log-out. When it throws, the
    // session and its cookie are still there.
    task::Task<> end();

  private:
    friend std::string app_parts::csrf_secret(const Session& session);
    friend task::Task<std::string> app_parts::ensure_csrf_secret(Session session);

    core::Ref<Record> record() const;
    const std::any& attachment() const;

    core::Ref<Attachment> record_;
};

namespace app_parts {

template <>
struct Argument<Session> {
    static std::optional<Session> find(Call& call);
    static Session pass(std::optional<Session>& found) { return *found; }
};
template <>
struct ArgumentNeeds<Session> {
    static void list(std::vector<Need>& needs) {
        needs.push_back({.key = state_key<Session>, .type = "Session", .left = true});
    }
};

}  // namespace app_parts
// For routes behind a sign-in: where the session has no `name`, `answer` (a Redirect, a Problem …)
// is the answer.
template <typename A>
Middleware signed_in(std::string name, A answer) {
    return [name = std::move(name), answer = std::move(answer)](Session session) {
        return session.has(name) ? std::optional<A>() : std::optional<A>(answer);
    };
}

}  // namespace tiderace::http

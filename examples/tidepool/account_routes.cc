// Sign up, log in, log out, and the language of the pages.

#include <tiderace/app.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "examples/tidepool/post_text.h"
#include "examples/tidepool/site.h"

namespace tidepool {

// A visitor that is not logged in; a member is sent to the front page.
struct Guest : Visitor {};

}  // namespace tidepool

template <>
struct tiderace::http::FromRequest<tidepool::Guest> {
    static std::expected<tidepool::Guest, Redirect> from(tidepool::Visitor visitor) {
        if (visitor.is_member()) return std::unexpected(Redirect{"/"});
        return tidepool::Guest{std::move(visitor)};
    }
};

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;

namespace {

struct SignUpForm {
    std::string name;
    std::string username;
    std::string email;
    std::string password;
    std::string again;
};
struct LogInForm {
    std::string who;
    std::string password;
    std::optional<std::string> back;
    std::optional<std::string> draft;
};
struct BackQuery {
    std::optional<std::string> back;
};
struct LanguageForm {
    std::string language;
    std::string back;
    std::optional<std::string> csrf;
};

// The session gets a new id: one that was planted before the log-in is worth nothing. The log-in
// itself comes last, in one transaction: until then the session names none that exists, and what
// ends here leaves no log-in in a list of devices that no browser has. `former`: the one that this
// session named; the member's list would keep it.
Task<> log_in(Site& site, Session session, const Request& request, std::int64_t member,
              std::string former) {
    const std::string agent(request.header("User-Agent"));
    const std::string login = random_word();
    co_await site.limits.remember(std::to_string(member), place_of(request));
    co_await session.renew();
    // The token first: a log-in without one could not send any form (Visitor::sent).
    co_await session.set("csrf", random_word());
    co_await session.set("login", login);
    co_await site.accounts.begin_login(member, login, agent, std::move(former));
}

Task<Answer> show_sign_up(Guest visitor, const Request& request) {
    co_return page<"sign_up.html">(
        SignUpPage{.frame = visitor.frame(), .in_clear = keeps_no_log_in(request)});
}

Task<Answer> sign_up(Guest visitor, Form<SignUpForm> form, const Request& request, Session session,
                     Site& site) {
    SignUp wanted{form->name, form->username, form->email, form->password, form->again};
    std::expected<std::int64_t, SignUpFaults> member;
    // A moderator's name is free again when that member has left, and the next one of this name
    // would have the rights.
    if (site.moderators->contains(small_letters(tidied(form->username)))) {
        member = std::unexpected(
            SignUpFaults{.username = std::string(visitor.words().form.username_taken)});
    } else {
        member = co_await site.accounts.sign_up(std::move(wanted), visitor.words());
    }
    if (!member) {
        // The typed text stays, except for the passwords.
        SignUpPage again{visitor.frame(), form->name, form->username, form->email, member.error()};
        co_return page<"sign_up.html">(std::move(again), Response(422));
    }
    co_await log_in(site, session, request, *member, "");
    co_return std::unexpected(Redirect{"/"});
}

Task<Answer> show_log_in(Visitor visitor, Query<BackQuery> query, const Request& request) {
    std::string back = own_path(query->back.value_or("/"));
    if (visitor.is_member()) co_return std::unexpected(Redirect{std::move(back)});
    co_return page<"log_in.html">(LogInPage{
        .frame = visitor.frame(), .back = std::move(back), .in_clear = keeps_no_log_in(request)});
}

Task<Answer> check_log_in(Visitor visitor, Form<LogInForm> form, const Request& request,
                          Session session, Site& site) {
    const FormWords& words = visitor.words().form;
    // If it is refused: with what was written before.
    LogInPage shown{.frame = visitor.frame(),
                    .back = own_path(form->back.value_or("/")),
                    .draft = tidied(form->draft.value_or("")),
                    .in_clear = keeps_no_log_in(request),
                    .who = form->who};
    auto account = co_await site.accounts.find(form->who);
    // One limit for the name and the e-mail address of an account. Without an account, the typed
    // text is limited, so that a refusal shows nothing.
    std::string key =
        account ? std::to_string(account->id) : hash_of(small_letters(tidied(form->who)));
    std::string place = place_of(request);
    // By the account, besides the address (add_account_routes): guesses at one password may come
    // from thousands of addresses.
    const bool allowed = co_await site.limits.allows_guess(std::move(key), std::move(place));
    if (!allowed) {
        shown.fault = words.too_many_tries;
        co_return page<"log_in.html">(std::move(shown), Response(429).header("Retry-After", "60"));
    }
    const std::int64_t member = account ? account->id : 0;
    const bool matches = co_await site.accounts.check(std::move(account), form->password);
    if (!matches) {
        shown.fault = words.wrong_log_in;
        co_return page<"log_in.html">(std::move(shown), Response(403));
    }
    std::string former;
    if (visitor.is_member()) former = visitor.viewer().login;
    co_await log_in(site, session, request, member, std::move(former));
    if (shown.draft.empty()) co_return std::unexpected(Redirect{std::move(shown.back)});
    // Shown and not sent: the member presses, and may think again.
    Visitor member_now = co_await FromRequest<Visitor>::from(site, session, request);
    Unsent unsent{std::move(shown.draft)};
    co_return co_await unsent_page(site, std::move(member_now), std::move(shown.back),
                                   std::move(unsent));
}

Task<Answer> log_out(Sent<PressForm> sent, Session session, Site& site) {
    const Member& visitor = sent.visitor;
    // First the login, which is what makes a session a member's: if ending the session fails below,
    // its cookie is worth nothing any more.
    co_await site.accounts.end_login(visitor.viewer().login);
    site.wakes.member(visitor.id());  // pages that are open there end
    co_await session.end();
    co_return std::unexpected(Redirect{"/"});
}

// Guests have no token: a language that a forged form sets is seen by their own browser alone.
Task<Answer> set_language(Visitor visitor, Form<LanguageForm> form, Session session) {
    if (visitor.is_member() && !visitor.sent(form->csrf.value_or(""))) co_return refused(visitor);
    co_await session.set("language", form->language == "zh" ? "zh" : "en");
    co_return std::unexpected(Redirect{own_path(form->back)});
}

}  // namespace

void add_account_routes(App& app) {
    app.get<"/sign-up">(show_sign_up);
    // Each route has two limits: rate_limit() costs no query and stops floods on this node; the
    // shared one counts the tries on all nodes.
    constexpr SharedLimits::Rate joining{.per_minute = 6, .burst = 6};
    constexpr SharedLimits::Rate trying{.per_minute = 12, .burst = 12};
    app.post<"/sign-up">(sign_up, rate_limit(joining), shared_rate_limit("sign-up", joining));
    app.get<"/log-in">(show_log_in);
    app.post<"/log-in">(check_log_in, rate_limit(trying), shared_rate_limit("log-in", trying));
    add_press<"/log-out">(app, log_out);
    add_press<"/language">(app, set_language);
}

}  // namespace tidepool

// Members' settings: what they change about themselves, export, or delete.

#include <tiderace/app.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/tidepool/site.h"

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;

namespace {

constexpr std::size_t about_characters_max = 300;

struct NoticeQuery {
    std::optional<std::string> notice;
};
struct ProfileForm {
    std::string name;
    std::string about;
    std::string csrf;
};
struct PasswordForm {
    std::string old;
    std::string password;
    std::string csrf;
};
struct DeleteForm {
    std::string password;
    std::string csrf;
};

}  // namespace

Task<Page> settings_page(Site& site, const Visitor& visitor, Frame frame, std::string fault,
                         int status) {
    std::string about = co_await site.accounts.about(visitor.id());
    std::string face = co_await site.accounts.face(visitor.id());
    auto logins = co_await site.accounts.logins(visitor.id(), visitor.viewer().login);
    const bool more_logins = logins.size() > 1;
    SettingsPage settings{.frame = std::move(frame),
                          .name = visitor.viewer().name,
                          .about = std::move(about),
                          .face = std::move(face),
                          .logins = std::move(logins),
                          .more_logins = more_logins,
                          .fault = std::move(fault)};
    co_return page<"settings.html">(std::move(settings), Response(status));
}

namespace {

Task<Answer> show_settings(Member visitor, Query<NoticeQuery> query, Site& site) {
    Frame frame = visitor.frame_with(notice_named(query->notice.value_or(""), visitor.words()));
    co_return co_await settings_page(site, visitor, std::move(frame), "", 200);
}

Task<Answer> set_profile(Sent<ProfileForm> sent, Site& site) {
    const std::string name = tidied(sent.form.name);
    const std::string fault = fault_of_name(name, sent.visitor.words());
    if (!fault.empty()) {
        co_return co_await settings_page(site, sent.visitor, sent.visitor.frame(), fault, 422);
    }
    std::string about = tidied(sent.form.about);
    // The page's own field takes no more, so this comes from no form of ours: cut, and not worth a
    // word.
    if (count_characters(about) > about_characters_max) {
        about = shortened(about, about_characters_max);
    }
    co_await site.accounts.set_profile(sent.visitor.id(), name, std::move(about));
    co_return std::unexpected(Redirect{"/settings?notice=saved"});
}

Task<Answer> set_password(Sent<PasswordForm> sent, Session session, Site& site) {
    // The cheap check first: the hash of a password is slow by intent.
    std::string fault = fault_of_password(sent.form.password, sent.visitor.words());
    if (fault.empty() && !co_await site.accounts.check(sent.visitor.id(), sent.form.old)) {
        fault = sent.visitor.words().settings.old_password_wrong;
    }
    if (!fault.empty()) {
        co_return co_await settings_page(site, sent.visitor, sent.visitor.frame(), fault, 422);
    }
    // This browser stays logged in, under a session id and a token that are new as well. Before
    // the password: when the client leaves behind it, no copy of the old id is worth anything.
    co_await session.renew();
    co_await session.set("csrf", random_word());
    co_await site.accounts.set_password(sent.visitor.id(), sent.form.password,
                                        sent.visitor.viewer().login);
    site.wakes.member(sent.visitor.id());
    co_return std::unexpected(Redirect{"/settings?notice=password"});
}

struct LoginForm {
    std::string login;
    std::string csrf;
};

Task<Answer> log_out_there(Sent<LoginForm> sent, Site& site) {
    co_await site.accounts.end_login_of(sent.visitor.id(), tidied(sent.form.login));
    site.wakes.member(sent.visitor.id());
    co_return std::unexpected(Redirect{"/settings?notice=saved#logins"});
}

Task<Answer> log_out_elsewhere(Sent<PressForm> sent, Site& site) {
    co_await site.accounts.end_other_logins(sent.visitor.id(), sent.visitor.viewer().login);
    site.wakes.member(sent.visitor.id());
    co_return std::unexpected(Redirect{"/settings?notice=saved"});
}

Task<Answer> delete_account(Sent<DeleteForm> sent, Session session, Site& site) {
    // The password is required again: a page that was left open must not be enough to delete an
    // account.
    if (!co_await site.accounts.check(sent.visitor.id(), sent.form.password)) {
        co_return co_await settings_page(
            site, sent.visitor, sent.visitor.frame(),
            std::string(sent.visitor.words().settings.old_password_wrong), 422);
    }
    auto pictures = co_await site.accounts.remove(sent.visitor.id());
    site.wakes.member(sent.visitor.id());
    co_await site.pictures.remove(std::move(pictures));
    co_await session.end();
    co_return std::unexpected(Redirect{"/"});
}

// The muted and blocked members, so that it can be undone without knowing their names.
template <bool blocked>
Task<Answer> show_hidden(Member visitor, Query<FromPerson> query, Site& site) {
    std::string from = query->from.value_or("");
    Task<People> work = blocked ? site.members.blocked(visitor.id(), std::move(from))
                                : site.members.muted(visitor.id(), std::move(from));
    People found = co_await std::move(work);
    const SettingsWords& words = visitor.words().settings;
    const std::string path = blocked ? "/settings/blocked" : "/settings/muted";
    PeoplePage shown{.frame = visitor.frame(),
                     .title = std::string(blocked ? words.blocked : words.muted),
                     .people = std::move(found.people),
                     .next = found.next.empty() ? "" : path + "?from=" + found.next};
    co_return page<"people.html">(std::move(shown));
}

using Exported = std::expected<Response, Redirect>;

Task<Exported> export_data(Member visitor, Site& site) {
    co_return Response()
        // A file to keep, and a body that is made piece by piece while it is sent.
        .header("Content-Disposition", "attachment; filename=\"tidepool.json\"")
        .body("application/json", site.accounts.exported(visitor.id()));
}

}  // namespace

void add_settings_routes(App& app) {
    constexpr SharedLimits::Rate guesses{.per_minute = 6, .burst = 6};
    const auto guessing = [=] { return rate_limit(guesses); };
    // Both forms ask for the same password.
    const auto everywhere = [=] { return shared_rate_limit("password", guesses); };
    app.get<"/settings">(show_settings);
    add_press<"/settings/profile">(app, set_profile);
    app.post<"/settings/password">(set_password, guessing(), everywhere());
    add_press<"/settings/log-out-there">(app, log_out_there);
    add_press<"/settings/log-out-elsewhere">(app, log_out_elsewhere);
    app.post<"/settings/delete">(delete_account, guessing(), everywhere());
    app.get<"/settings/muted">(show_hidden<false>);
    app.get<"/settings/blocked">(show_hidden<true>);
    app.get<"/settings/export">(export_data, rate_limit({.per_minute = 6, .burst = 3}));
}

}  // namespace tidepool

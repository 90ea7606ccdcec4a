#include "examples/tidepool/accounts.h"

#include <array>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/tidepool/account_export.h"
#include "examples/tidepool/post_text.h"
#include "examples/tidepool/posts.h"
#include "examples/tidepool/timelines.h"

namespace tidepool {

using namespace tiderace;

namespace {

constexpr std::size_t name_characters_max = 50;
constexpr std::size_t email_bytes_max = 254;
constexpr std::size_t agent_characters_max = 200;

struct LoginRow {
    std::string id;
    std::string agent;
    Time created_at;
    std::int64_t used_at;
};

std::int64_t seconds_now() {
    return now().time_since_epoch().count();
}

// Whether mail arrives there is the only real test; this one finds what was typed into the wrong
// field.
bool may_be_email(const std::string& text) {
    const std::size_t at = text.find('@');
    return text.size() <= email_bytes_max && at != std::string::npos && at > 0 &&
           text.find('@', at + 1) == std::string::npos && at + 1 < text.size() &&
           text.find_first_of(" \t\n<>\"") == std::string::npos;
}

SignUpFaults faults_of(const SignUp& form, const Words& words) {
    SignUpFaults faults;
    faults.name = fault_of_name(form.name, words);
    if (!is_username(form.username)) faults.username = words.form.username_hint;
    if (!may_be_email(form.email)) faults.email = words.form.email_wrong;
    faults.password = fault_of_password(form.password, words);
    if (faults.password.empty() && form.password != form.again) {
        faults.again = words.form.passwords_differ;
    }
    return faults;
}

}  // namespace

std::string device_of(const std::string& agent) {
    using Names = std::array<std::pair<std::string_view, std::string_view>, 6>;
    // Most browsers also name the browsers that they resemble, so the order counts.
    constexpr Names browsers = {{{"Edg", "Edge"},
                                 {"OPR/", "Opera"},
                                 {"Firefox/", "Firefox"},
                                 {"Chrome/", "Chrome"},
                                 {"Safari/", "Safari"},
                                 {"curl/", "curl"}}};
    constexpr Names systems = {{{"Android", "Android"},
                                {"iPhone", "iPhone"},
                                {"iPad", "iPad"},
                                {"Windows", "Windows"},
                                {"Mac OS X", "Mac"},
                                {"Linux", "Linux"}}};
    const auto find = [&](const Names& names) {
        for (const auto& [sign, name] : names) {
            if (agent.contains(sign)) return std::string(name);
        }
        return std::string();
    };
    const std::string browser = find(browsers);
    const std::string system = find(systems);
    if (!browser.empty() && !system.empty()) return browser + " · " + system;
    if (!browser.empty() || !system.empty()) return browser + system;
    return agent.empty() ? "?" : shortened(agent, 40);
}

std::string fault_of_name(const std::string& name, const Words& words) {
    const std::size_t characters = count_characters(name);
    const bool one_line = name.find('\n') == std::string::npos;
    if (is_visible(name) && characters <= name_characters_max && one_line) return {};
    return std::string(words.form.name_hint);
}

std::string fault_of_password(const std::string& password, const Words& words) {
    const bool fits = count_characters(password) >= password_characters_min &&
                      password.size() <= password_bytes_max;
    return fits ? std::string() : std::string(words.form.password_hint);
}

Task<std::expected<std::int64_t, SignUpFaults>> Accounts::sign_up(SignUp form, const Words& words) {
    form.name = tidied(form.name);
    form.email = small_letters(tidied(form.email));
    form.username = small_letters(tidied(form.username));
    SignUpFaults faults = faults_of(form, words);
    if (faults != SignUpFaults()) co_return std::unexpected(std::move(faults));
    // Before the transaction: it takes some hundred milliseconds, and SQLite has one writer at a
    // time.
    const std::string hash = co_await passwords_->hash(std::move(form.password));
    const NewId id = new_id(db_.dialect(), "members");
    // The database decides: of two visitors that sign up with one name at once, one succeeds.
    auto write = [&](db::Transaction& tx) -> Task<std::optional<std::int64_t>> {
        const auto taken = co_await tx.one<std::int64_t>(
            "select count(*) from members where username = ?", form.username);
        if (*taken > 0) faults.username = words.form.username_taken;
        const auto known = co_await tx.one<std::int64_t>(
            "select count(*) from members where email = ?", form.email);
        if (*known > 0) faults.email = words.form.email_taken;
        if (*taken > 0 || *known > 0) co_return std::nullopt;
        co_return co_await tx.one<std::int64_t>(
            "insert into members (" + id.column +
                "created_at, username, name, email, password, about) values (" + id.value +
                "?, ?, ?, ?, ?, '') returning id",
            now(), form.username, form.name, form.email, hash);
    };
    std::optional<std::int64_t> member;
    try {
        member = co_await db_.transaction(write);
    } catch (const db::Error& error) {
        // Another sign-up came between the look and the insert. Which of the two columns it was is
        // not known; the name is the likelier.
        if (error.kind() != db::Fault::unique) throw;
        faults.username = words.form.username_taken;
    }
    if (!member) co_return std::unexpected(std::move(faults));
    co_return *member;
}

Task<std::optional<Account>> Accounts::find(std::string who) {
    const std::string name = small_letters(tidied(who));
    co_return co_await db_.one<Account>(
        "select id, password from members where username = ? or email = ?", name, name);
}

Task<bool> Accounts::check(std::optional<Account> account, std::string password) {
    std::string hash;  // with a name: g++ 12 destroys conditional temporaries of an await twice
    if (account) hash = std::move(account->password);
    co_return co_await passwords_->verify(std::move(password), std::move(hash));
}

Task<bool> Accounts::check(std::int64_t member, std::string password) {
    auto account =
        co_await db_.one<Account>("select id, password from members where id = ?", member);
    co_return co_await check(std::move(account), std::move(password));
}

Task<> Accounts::begin_login(std::int64_t member, std::string login, std::string agent,
                             std::string former) {
    // A browser may send any bytes as its name.
    agent = is_text(agent) ? tidied(agent) : std::string();
    auto write = [&](db::Transaction& tx) -> Task<> {
        if (!former.empty()) co_await tx.exec("delete from logins where id = ?", former);
        // The newest stay, so that a program that logs in each minute does not fill the table. A
        // select within a select, because MariaDB rejects a limit directly below an `in`.
        co_await tx.exec(
            "delete from logins where member = ? and id not in (select id from (select id from"
            " logins where member = ? order by used_at desc limit ?) as newest)",
            member, member, logins_max - 1);
        co_await tx.exec(
            "insert into logins (id, member, created_at, used_at, agent) values (?, ?, ?, ?, ?)",
            login, member, now(), seconds_now(), shortened(agent, agent_characters_max));
    };
    co_await db_.transaction(write);
}

Task<> Accounts::end_login(std::string login) {
    co_await db_.exec("delete from logins where id = ?", login);
}

Task<> Accounts::end_other_logins(std::int64_t member, std::string login) {
    co_await db_.exec("delete from logins where member = ? and id <> ?", member, login);
}

// By both, because the id comes from a form.
Task<> Accounts::end_login_of(std::int64_t member, std::string login) {
    co_await db_.exec("delete from logins where member = ? and id = ?", member, login);
}

Task<std::vector<LoginView>> Accounts::logins(std::int64_t member, std::string here) {
    auto rows = co_await db_.all<LoginRow>(
        "select id, agent, created_at, used_at from logins where member = ?"
        " order by used_at desc, id",
        member);
    std::vector<LoginView> logins;
    for (LoginRow& row : rows) {
        const bool is_here = row.id == here;
        logins.push_back({.id = std::move(row.id),
                          .device = device_of(row.agent),
                          .created_at = row.created_at,
                          .used_at = Time(std::chrono::seconds(row.used_at)),
                          .here = is_here});
    }
    co_return logins;
}

std::string Accounts::viewer_columns(db::Dialect dialect) {
    // SQLite has the count in the member's row, by triggers (migration 0009). A session without a
    // log-in has no member: null, where a count of rows is 0.
    const std::string_view unseen =
        dialect == db::Dialect::sqlite
            ? "coalesce(m.unseen_count, 0)"
            : "(select count(*) from notifications n where n.member = m.id and n.seen = 0)";
    return "m.id, m.username, m.name, l.id as login, l.used_at, " + std::string(unseen) +
           " as unseen";
}

Task<std::optional<Viewer>> Accounts::viewer(std::string login) {
    const std::string sql = "select " + viewer_columns(db_.dialect()) +
                            " from logins l join members m on m.id = l.member where l.id = ?";
    auto viewer = co_await db_.one<Viewer>(sql, login);
    if (viewer) co_await note_use(*viewer);
    co_return viewer;
}

// RateLimited, so that reading pages does not write: each request passes here.
Task<> Accounts::note_use(const Viewer& viewer) {
    const std::int64_t now = seconds_now();
    if (now - viewer.used_at <= use_noted_after) co_return;
    co_await db_.exec("update logins set used_at = ? where id = ?", now, viewer.login);
}

Task<> Accounts::set_profile(std::int64_t member, std::string name, std::string about) {
    co_await db_.exec("update members set name = ?, about = ? where id = ?", name, about, member);
}

Task<std::string> Accounts::about(std::int64_t member) {
    auto about = co_await db_.one<std::string>("select about from members where id = ?", member);
    co_return about.value_or(std::string());
}

Task<> Accounts::set_password(std::int64_t member, std::string password, std::string login) {
    const std::string hash = co_await passwords_->hash(std::move(password));
    // Both or neither, also where the client leaves between them.
    auto write = [&](db::Transaction& tx) -> Task<> {
        co_await tx.exec("update members set password = ? where id = ?", hash, member);
        co_await tx.exec("delete from logins where member = ? and id <> ?", member, login);
    };
    co_await db_.transaction(write, retried);
}

Generator<std::string> Accounts::exported(std::int64_t member) {
    return tidepool::exported(db_, member);
}

Task<std::string> Accounts::face(std::int64_t member) {
    auto face = co_await db_.one<std::string>("select coalesce(face, '') from members where id = ?",
                                              member);
    co_return face.value_or(std::string());
}

Task<std::string> Accounts::set_face(std::int64_t member, std::optional<std::string> name) {
    auto write = [&](db::Transaction& tx) -> Task<std::string> {
        auto before = co_await tx.one<std::string>(
            "select coalesce(face, '') from members where id = ?", member);
        co_await tx.exec("update members set face = ? where id = ?", name, member);
        co_return before.value_or(std::string());
    };
    co_return co_await db_.transaction(write);
}

Task<std::vector<std::string>> Accounts::remove(std::int64_t member) {
    const std::vector<db::Value> own(4, db::Value(member));
    auto write = [&](db::Transaction& tx) -> Task<std::vector<std::string>> {
        co_await lock_posts(tx, db_.dialect(),
                            "select id from posts where author = ?"
                            " union select id from posts where parent in"
                            " (select id from posts where author = ?)"
                            " union select parent from posts where author = ?"
                            " union select post from likes where member = ?",
                            own);
        // The files are removed by the caller, after the commit: a transaction that fails has
        // removed none.
        auto pictures = co_await tx.all<std::string>(
            "select picture from posts where author = ? and picture is not null"
            " union select face from members where id = ? and face is not null",
            member, member);
        // Replies of others stay (PostStore::remove). A select within a select, because MariaDB
        // reads no table that the statement changes.
        co_await tx.exec(
            "update posts set gone_parent = parent, parent = null where author <> ? and parent in"
            " (select id from (select id from posts where author = ?) as own)",
            member, member);
        co_await tx.exec("delete from members where id = ?", member);
        co_return pictures;
    };
    co_return co_await db_.transaction(write, {.attempts = 3});
}

}  // namespace tidepool

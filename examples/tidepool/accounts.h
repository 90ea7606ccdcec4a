// Accounts: log-ins, where each member is logged in, and what members change about
// themselves.
//
// Thread   A loop's, in its tasks.
// Errors   db::Error and password::TooBusy, thrown.
#pragma once

#include <tiderace/db.h>
#include <tiderace/password/hasher.h>
#include <tiderace/task.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/tidepool/member_pages.h"
#include "examples/tidepool/pages.h"

namespace tidepool {

struct SignUp {
    std::string name;
    std::string username;
    std::string email;
    std::string password;
    std::string again;
};

struct Account {
    std::int64_t id;
    std::string password;  // its hash
};

inline constexpr std::size_t password_characters_min = 8;
inline constexpr std::size_t password_bytes_max = 800;  // 200 characters of four bytes

class Accounts {
  public:
    static constexpr std::int64_t logins_max = 20;        // of a member; the oldest ends
    static constexpr std::int64_t use_noted_after = 600;  // seconds

    Accounts(tiderace::db::Database db, tiderace::password::Hasher& passwords)
        : db_(std::move(db)), passwords_(&passwords) {}

    // The fault of each field, in the visitor's language; or the new member's id.
    tiderace::Task<std::expected<std::int64_t, SignUpFaults>> sign_up(SignUp form,
                                                                      const Words& words);
    // By user name or e-mail address.
    tiderace::Task<std::optional<Account>> find(std::string who);
    // Takes as long where there is no such account.
    tiderace::Task<bool> check(std::optional<Account> account, std::string password);
    tiderace::Task<bool> check(std::int64_t member, std::string password);

    // `login`: a word that the session names already. `former`: the log-in that it named before,
    // which ends; "": none.
    tiderace::Task<> begin_login(std::int64_t member, std::string login, std::string agent,
                                 std::string former = {});
    tiderace::Task<> end_login(std::string login);
    tiderace::Task<> end_other_logins(std::int64_t member, std::string login);
    // One of that member's.
    tiderace::Task<> end_login_of(std::int64_t member, std::string login);
    // The last used first. `here`: the current one.
    tiderace::Task<std::vector<LoginView>> logins(std::int64_t member, std::string here);
    // The member of this log-in, unless it has ended. Notes its use.
    tiderace::Task<std::optional<Viewer>> viewer(std::string login);
    // Of `logins l` and `members m`, for others that read a Viewer.
    static std::string viewer_columns(tiderace::db::Dialect dialect);
    // Records when the log-in was used, now and then.
    tiderace::Task<> note_use(const Viewer& viewer);

    tiderace::Task<> set_profile(std::int64_t member, std::string name, std::string about);
    tiderace::Task<std::string> about(std::int64_t member);
    // A password is often changed because another person knows it: all log-ins but `login` end.
    tiderace::Task<> set_password(std::int64_t member, std::string password, std::string login);
    // All that is kept about a member (account_export.h).
    tiderace::Generator<std::string> exported(std::int64_t member);
    // "": none.
    tiderace::Task<std::string> face(std::int64_t member);
    // The one that it replaces; "": none.
    tiderace::Task<std::string> set_face(std::int64_t member, std::optional<std::string> name);
    // With all that the member wrote; the pictures that nothing names any more. What others replied
    // stays.
    tiderace::Task<std::vector<std::string>> remove(std::int64_t member);

  private:
    tiderace::db::Database db_;
    tiderace::password::Hasher* passwords_;
};

// "Firefox on Linux": as far as a browser reveals it, so that members recognise it.
std::string device_of(const std::string& agent);

// The fault of a name; "": none.
std::string fault_of_name(const std::string& name, const Words& words);
std::string fault_of_password(const std::string& password, const Words& words);

}  // namespace tidepool

#include "server/account.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "server/terminal.h"
#include "tiderace/base/ascii.h"
#include "tiderace/base/check.h"

namespace tiderace::server {
namespace {

constexpr std::string_view default_name = "nobody";
constexpr uid_t default_number = 65'534;  // of a system without a list of users, as in a container
constexpr std::string_view advice = "--user takes NAME, NAME:GROUP or numbers";
constexpr std::string_view stay = "--user root stays root";

Result<gid_t> find_group(const std::string& text) {
    if (const group* found = ::getgrnam(text.c_str())) return found->gr_gid;
    // A number is taken without an entry, because containers often run with numbers alone.
    if (const auto id = parse_number<gid_t>(text)) return *id;
    return fail(Error(0, "find group", text, "there is none of that name; " + std::string(advice)));
}

// `last` opens the folder; before it, whatever is needed to open those above, from the first on
// that this user may not enter. Nothing is known of those below that one.
std::string command_that_opens(const std::string& path, const std::string& last) {
    std::string above;
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
        const std::string folder = path.substr(0, slash);
        if (!above.empty() || ::access(folder.c_str(), X_OK) != 0)
            above += " " + shell_word(folder);
    }
    return (above.empty() ? "" : "chmod a+x" + above + " && ") + last + " " + shell_word(path);
}

// Root may read every folder. Its owner may as well, which helps only where the folders above it
// are open.
std::string user_who_may(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || (status.st_mode & 0500) != 0500) return "root";
    const passwd* owner = ::getpwuid(status.st_uid);
    return owner != nullptr ? owner->pw_name : std::to_string(status.st_uid);
}

// By the effective user: ActingAs sets no other.
Result<> check_folder(const std::string& path, int mode, const Account& account,
                      std::string_view operation, std::string_view what,
                      const std::string& opening) {
    if (::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0) return {};
    const int code = errno;
    return fail(Error(code, operation, path,
                      "the server runs as user " + account.name + ", which may not " +
                          std::string(what) + " this folder: run `" +
                          command_that_opens(path, opening) + "`, or add --user " +
                          user_who_may(path)));
}

}  // namespace

// By the system's list of users. A container often has none, so numbers and "nobody" work without
// an entry.
Result<Account> find_account(std::string_view text) {
    const std::size_t colon = text.find(':');
    Account account{.name = std::string(text.substr(0, colon))};
    const auto id = parse_number<uid_t>(account.name);
    // A name of digits is a name first, as chown(1) has it.
    const passwd* found = ::getpwnam(account.name.c_str());
    if (found == nullptr && id) found = ::getpwuid(*id);
    if (found != nullptr) {
        account = {
            .name = found->pw_name, .user = found->pw_uid, .group = found->pw_gid, .known = true};
    } else if (id) {
        account.user = *id;
        account.group = static_cast<gid_t>(*id);
    } else if (account.name == default_name) {
        account.user = default_number;
        account.group = default_number;
    } else {
        return fail(Error(0, "find user", account.name,
                          "there is none of that name; " + std::string(advice)));
    }
    if (colon != std::string_view::npos) {
        const auto group = find_group(std::string(text.substr(colon + 1)));
        if (!group) return fail(group.error());
        account.group = *group;
    }
    return account;
}

Result<std::optional<Account>> account_to_become(const std::string& flag, uid_t user, gid_t group) {
    if (flag.empty() && user != 0) return std::nullopt;
    auto account = find_account(flag.empty() ? default_name : std::string_view(flag));
    if (!account) return fail(account.error());
    // --user root, started by root, or a user that names itself: there is nothing to give up.
    if (account->user == user) {
        if (flag.find(':') == flag.npos || account->group == group) return std::nullopt;
        return fail(Error(0, "become user", flag,
                          "the server runs as this user already and keeps its group; leave the "
                          "group out, or choose another user"));
    }
    if (user == 0) return std::move(*account);
    return fail(Error(0, "become user", account->name,
                      "only root can: start the server as root, or leave --user out"));
}

// setuid(2) of root sets the real, effective and saved user at once, and glibc does so on all
// threads; here there is only one.
Result<> become(const Account& account) {
    // Groups first: after setuid() they cannot be changed, and root's would remain.
    // A user without an entry is in no list of groups, so the one group is all that it has.
    const int groups = account.known ? ::initgroups(account.name.c_str(), account.group)
                                     : ::setgroups(1, &account.group);
    if (groups != 0 || ::setgid(account.group) != 0 || ::setuid(account.user) != 0) {
        return fail(Error::last("become user", account.name, stay));
    }
    // A return to root must be impossible. With CAP_SETUID kept over the change, as by
    // SECBIT_NO_SETUID_FIXUP, it is not.
    if (::setuid(0) == 0 || ::geteuid() != account.user) {
        return fail(
            Error(0, "become user", account.name, "the system kept root; " + std::string(stay)));
    }
    return {};
}

Result<> check_readable_folder(const std::string& path, const Account& account) {
    return check_folder(path, R_OK | X_OK, account, "serve", "read", "chmod a+rx");
}

Result<> check_writable_folder(const std::string& path, const Account& account) {
    return check_folder(path, R_OK | W_OK | X_OK, account, "write to", "write to",
                        "chown " + shell_word(account.name));
}

Result<> check_log_folder(const std::string& file, const Account& account) {
    std::error_code fault;
    const auto path = std::filesystem::absolute(file, fault);
    if (fault) {
        return fail(Error(fault.value(), "find the folder of", file,
                          "give the log file a path that begins with /"));
    }
    return check_writable_folder(path.parent_path().string(), account);
}

Result<> make_folder(const std::string& path, const Account& account) {
    if (::mkdir(path.c_str(), 0700) != 0) {
        // An earlier start made it. Its owner is not changed: it may be a folder that has another
        // purpose, and the store of compressed files checks what it finds.
        if (errno == EEXIST) return {};
        return fail(
            Error::last("make", path, errno == ENOENT ? "make the folder above it first" : ""));
    }
    return give_folder(path, account);
}

Result<> give_folder(const std::string& path, const Account& account) {
    // By its descriptor. The folder above may be the account's own, and chown(2) follows a link
    // that was put in the place of the new folder: root would give it /etc.
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool given = folder >= 0 && ::fchown(folder, account.user, account.group) == 0;
    const int code = errno;
    if (folder >= 0) ::close(folder);
    if (given) return {};
    return fail(Error(code, "give to user " + account.name, path));
}

ActingAs::ActingAs() : user_(::geteuid()), group_(::getegid()) {}

// The effective user and group only: the real user stays root, which is what allows the way back.
// Root's supplementary groups stay, too: it keeps a start from mistakes, not an attacker out.
Result<std::unique_ptr<ActingAs>> ActingAs::begin(const Account& account) {
    // Made first: its end takes back the half of a change.
    std::unique_ptr<ActingAs> acting(new ActingAs());
    // The group first, and on the way back last: only root may change it.
    if (::setegid(account.group) != 0 || ::seteuid(account.user) != 0) {
        return fail(Error::last("act as user", account.name, stay));
    }
    return acting;
}

ActingAs::~ActingAs() {
    const bool done = ::seteuid(user_) == 0 && ::setegid(group_) == 0;
    TR_CHECK(done, "the rights of before");
}

}  // namespace tiderace::server

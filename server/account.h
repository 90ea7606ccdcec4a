// Account: the user that the server runs as once its sockets, certificates and logs are open.
//
//   started as   --user            runs as
//   root         absent            nobody, which the log reports
//   root         NAME[:GROUP]      that user; `--user root` stays root
//   another      absent            the same
//   another      its own name      the same; any other is an error
//
// A user that stays keeps its group as well, so another GROUP is an error there.
//
// The group is the user's own unless it is given; names and numbers are both good.
//
// Thread   The main one, before there is any other.
// Errors   A user or group that does not exist; a system that refuses the change.
// Keywords: setuid, root, privileges, nobody
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "tiderace/base/result.h"

namespace tiderace::server {

struct Account {
    std::string name;  // "nobody"; a number if the system has no such user
    uid_t user = 0;
    gid_t group = 0;
    bool known = false;  // to the system, with the groups it is a member of
};

Result<Account> find_account(std::string_view text);
// The account that a process of this user and group has to become; empty: it keeps its own.
Result<std::optional<Account>> account_to_become(const std::string& flag, uid_t user, gid_t group);
// For good: root cannot be taken back.
Result<> become(const Account& account);
// Whether the process, as it is now, may read (enter, list) what is there. The error names a
// command that lets it.
Result<> check_readable_folder(const std::string& path, const Account& account);
Result<> check_writable_folder(const std::string& path, const Account& account);
// The folder of a log file, in which rotation renames the file and makes a new one.
Result<> check_log_folder(const std::string& file, const Account& account);

// Makes a folder of the account's own, where there is none.
Result<> make_folder(const std::string& path, const Account& account);
// Makes the account the owner of a folder. A link is refused.
Result<> give_folder(const std::string& path, const Account& account);

// While it lives, root has the account's rights to files: what it opens, the account may open.
class ActingAs {
  public:
    // Fails where the system refuses: in a container without CAP_SETUID, say.
    static Result<std::unique_ptr<ActingAs>> begin(const Account& account);
    ~ActingAs();
    ActingAs(const ActingAs&) = delete;
    ActingAs& operator=(const ActingAs&) = delete;

  private:
    ActingAs();

    uid_t user_;
    gid_t group_;
};

}  // namespace tiderace::server

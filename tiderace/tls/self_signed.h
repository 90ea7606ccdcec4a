// A local development certificate, made when there is none that serves and kept in a folder of the
// user's:
//
//   authority.pem  authority-key.pem    to be trusted once; see development_authority.h
//   localhost.pem  localhost-key.pem    what the server shows; made anew when it nears its end or
//                                       when the machine has an address or name that it lacks
//
// Owner    The files are the user's: the folder is 0700, each file 0600, each replaced as a whole.
//          Two programs at once wait for each other (a lock on the folder, net/folder_lock.h).
// Thread   Any; before the loops run, as it reads and writes files.
// Errors   A folder that cannot be made or is someone else's, a file that cannot be written: which,
//          and why. Files of any other content are made anew.
// Keywords: self-signed, localhost certificate
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/net/folder_lock.h"
#include "tiderace/tls/development_authority.h"

namespace tiderace::tls {

struct SelfSigned {
    std::string certificate_file;
    std::string key_file;
    std::string authority_file;
    std::string fingerprint;            // of the certificate
    std::string authority_fingerprint;  // SHA-256, "3F:0A:…"
    LocalNames names;                   // in the certificate
    // The names the authority may sign for: these alone, names below localhost, these ranges.
    LocalNames authority_names;
    std::vector<std::string> private_ranges;
    UnixSeconds ends = 0;  // of the certificate
    UnixSeconds authority_ends = 0;
    bool authority_is_new = false;
    bool certificate_is_new = false;
};

// $XDG_DATA_HOME/tiderace, or $HOME/.local/share/tiderace.
Result<std::string> self_signed_folder();

// `host_name` and `addresses` are the machine's; names that the certificate may not hold are left
// out. `lock_wait_max`: how long another program may keep the folder's lock.
Result<SelfSigned> self_signed(const std::string& folder, std::string_view host_name,
                               const std::vector<std::string>& addresses, UnixSeconds now,
                               Duration lock_wait_max = net::folder_lock_wait_default);
// In self_signed_folder(), for this machine's name and the addresses at which others reach it. All
// programs use this one: another set of names would replace the certificate, or even the authority.
Result<SelfSigned> self_signed();

}  // namespace tiderace::tls

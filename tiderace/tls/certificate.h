// Certificate: one chain, its key and its staple, loaded from files and found to fit together, of a
// kind that clients take.
//
// Owner    A value, moved.
// Thread   Any.
// Errors   Which file, which line, what was expected; swapped and encrypted files are told as such.
// Limits   file_bytes_max for each file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/tls/openssl.h"
#include "tiderace/tls/server_options.h"
#include "tiderace/tls/staple.h"

namespace tiderace::tls {

struct Certificate {
    CertificateFiles files;
    X509Ptr leaf;
    std::vector<X509Ptr> chain;  // the others, in the file's order
    KeyPtr key;
    UnixSeconds ends = 0;  // the leaf's end
    Staple staple;
    std::vector<std::string> names;     // lower case; from the subject's common name if there is no
                                        // subject alternative name
    std::vector<std::string> warnings;  // "cert.pem expired on …"

    static constexpr std::size_t file_bytes_max = 1_MiB;

    std::string expired_text() const;  // that warning

    static Result<Certificate> load(const CertificateFiles& files);
};

// Of ASCII alone; names of hosts compare so (RFC 4343).
std::string lower_case(std::string_view text);

}  // namespace tiderace::tls

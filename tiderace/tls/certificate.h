// Certificate: one chain and its key, loaded from files and found to fit together, of a kind that
// clients take.
//
// Owner    A value, moved.
// Thread   Any.
// Errors   Which file, which line, the expected content; swapped and encrypted files are reported
//          as such.
// Limits   file_bytes_max for each file.
// Keywords: X.509, chain, private key
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/tls/openssl.h"
#include "tiderace/tls/server_options.h"

namespace tiderace::tls {

struct Certificate {
    CertificateFiles files;
    X509Ptr leaf;
    std::vector<X509Ptr> chain;  // the others, in the file's order
    KeyPtr key;
    UnixSeconds begins = 0;  // the leaf's
    UnixSeconds ends = 0;
    std::vector<std::string> names;     // lower case; from the subject's common name if there is no
                                        // subject alternative name
    std::vector<std::string> warnings;  // "cert.pem expired on …"

    static constexpr std::size_t file_bytes_max = 1_MiB;

    std::string expired_text() const;  // that warning
    bool is_valid(UnixSeconds now) const { return begins <= now && now < ends; }
    // Chain and key, for the connections of this context. An error: OpenSSL refuses one of them.
    Result<> use_in(SSL_CTX* context) const;
    // The same chain and key; warnings are left out.
    Certificate share() const;

    static Result<Certificate> load(const CertificateFiles& files);
};

}  // namespace tiderace::tls

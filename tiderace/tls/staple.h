// Staple: an authority's response that a certificate is still good (OCSP), from a file, sent with
// it in the handshake.
//
// A response for another certificate, or an expired one, is not sent but reported: clients reject a
// wrong staple, and accept none. So a certificate may be renewed before its staple is.
//
// Owner    A Certificate.
// Thread   Any.
// Errors   A file that is no answer at all.
// Limits   Certificate::file_bytes_max.
#pragma once

#include <string>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/tls/openssl.h"

namespace tiderace::tls {

struct Staple {
    std::string der;       // "" if there is none to send
    UnixSeconds ends = 0;  // it is sent before
    std::string warning;   // "site.ocsp ended on …", or ""

    bool serves(UnixSeconds now) const { return !der.empty() && now < ends; }

    std::string ended_text(const std::string& file) const;  // "site.ocsp ended on …"

    static Result<Staple> load(const std::string& file, const X509* leaf, UnixSeconds now);
};

// 0 for what is no time.
UnixSeconds seconds_of(const ASN1_TIME* time);
// "Nov 20 15:30:26 2026 GMT"
std::string time_text(UnixSeconds time);

}  // namespace tiderace::tls

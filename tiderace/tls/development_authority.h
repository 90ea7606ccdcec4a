// A certificate authority of one machine for development, and the certificate it signs.
//
//   authority  P-256, may sign for localhost and what is below it, for exactly the names of this
//              machine, for private addresses and this machine's own, and for nothing else (a
//              critical name constraint): a thief of its key cannot pass for a site on the
//              Internet. The developers of this machine trust it once.
//   leaf       P-256, for localhost, the loopback and LAN addresses and the host's name; browsers
//              reject a certificate that is valid for more than 398 days, so it is made anew often.
//
// Thread   Any: pure functions of their arguments, save for keys and serial numbers, which are
//          random.
// Errors   OpenSSL's, with the object that was being made.
// Keywords: CA, localhost certificate
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/calendar.h"
#include "tiderace/base/result.h"
#include "tiderace/base/secret_text.h"
#include "tiderace/base/units.h"

namespace tiderace::tls {

// Both as PEM.
struct CertificateAndKey {
    std::string certificate;
    SecretText key;
};

struct LocalNames {
    std::vector<std::string> hosts;      // "localhost", "box", "box.local"
    std::vector<std::string> addresses;  // "127.0.0.1", "::1", "192.168.1.5"
};

inline constexpr UnixSeconds authority_days = 5 * 365;
inline constexpr UnixSeconds leaf_days = 397;
// Certificates with less time left than this are made anew.
inline constexpr UnixSeconds authority_spare_days = leaf_days + 1;
inline constexpr UnixSeconds leaf_spare_days = 30;

// The names that a leaf may hold: hosts of letters, digits, hyphens and dots, and addresses, save
// for public ones of IPv6, which change by the day. "box" is also "box.local". Always with
// localhost, 127.0.0.1 and ::1, each once.
LocalNames local_names(std::string_view host_name, const std::vector<std::string>& addresses);

// The constraint lists the hosts, each without the names below it (".dev" is a domain of the
// Internet, a machine may be called "dev"), the public addresses, and all private ranges, so that
// the authority stays when a private address is new.
Result<CertificateAndKey> make_authority(const LocalNames& names, UnixSeconds now);
Result<CertificateAndKey> make_leaf(const CertificateAndKey& authority, const LocalNames& names,
                                    UnixSeconds now);

// Still good for what make_authority would make today: a pair, with time left, that may sign for
// these names, and for none below any name but localhost.
bool authority_serves(const CertificateAndKey& authority, const LocalNames& names, UnixSeconds now);
// The same of a leaf: a pair, with time left, of this authority, for all of these names.
bool leaf_serves(const CertificateAndKey& leaf, const CertificateAndKey& authority,
                 const LocalNames& names, UnixSeconds now);

// The names and addresses that an authority may sign for beside private addresses and what is below
// localhost: it may keep some that the machine has no longer.
LocalNames names_of_authority(std::string_view certificate_pem);
// "10.0.0.0/8", …: the ranges that every authority may sign for.
std::vector<std::string> private_range_texts();

// SHA-256 of the first certificate, as tools show it: "3F:0A:…". "" when there is none.
std::string fingerprint(std::string_view certificate_pem);
// When the first certificate ends; 0 when there is none.
UnixSeconds ends_at(std::string_view certificate_pem);

}  // namespace tiderace::tls

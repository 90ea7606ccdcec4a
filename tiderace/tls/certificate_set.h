// CertificateSet: which certificates serve which name: one SSL_CTX for each combination, so that an
// RSA and an ECDSA certificate for the same name both serve.
//
//   "www.example.org" -> exactly that name, else "*.example.org", else the first certificate
//
// A certificate that is valid is not replaced by one that is not: it stays, with a warning.
//
// Owner    A ServerContext; a reload makes another. An SSL keeps the SSL_CTX it was made from.
// Thread   One.
// Errors   The fault of the first wrong file.
// Keywords: SNI, RSA, ECDSA, wildcard certificate
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tiderace/tls/certificate.h"
#include "tiderace/tls/openssl.h"

namespace tiderace::tls {

class CertificateSet {
  public:
    // `settle` puts everything but certificates on each SSL_CTX.
    using Settle = Result<> (*)(SSL_CTX* context, void* about);

    static Result<CertificateSet> load(const std::vector<CertificateFiles>& files, Settle settle,
                                       void* about);
    // Loads the same files again. A certificate of `previous` stays if the new one is not valid at
    // `now` and the old one is.
    static Result<CertificateSet> load_again(const std::vector<CertificateFiles>& files,
                                             Settle settle, void* about,
                                             const CertificateSet& previous, UnixSeconds now);

    // For clients that send no SNI, or a name that no certificate matches.
    SSL_CTX* by_default() const { return contexts_.front().get(); }
    // `name` in lower case.
    SSL_CTX* find(std::string_view name) const;
    // Facts for the operator: expired certificates, certificates that are never used.
    std::vector<std::string> warnings() const;
    std::vector<CertificateEnd> ends() const;
    // Certificates that ended after `since`, up to `now`.
    std::vector<std::string> ended(UnixSeconds since, UnixSeconds now) const;

    // When the first certificate that was skipped as not yet valid becomes valid; INT64_MAX: none.
    UnixSeconds better_from() const { return better_from_; }

  private:
    // Positions in certificates_: at most one of each kind of key.
    using Combination = std::vector<std::size_t>;

    Result<> load_files(const std::vector<CertificateFiles>& files, const CertificateSet* previous,
                        UnixSeconds now);
    Certificate better(Certificate fresh, const Certificate& old, UnixSeconds now);
    Result<> prepare(Settle settle, void* about);
    void add_names();
    Result<> make_contexts(Settle settle, void* about);
    bool is_shown(std::size_t position) const;

    std::vector<Certificate> certificates_;
    std::map<std::string, Combination, std::less<>> by_name_;
    std::map<Combination, std::size_t> context_of_;
    std::vector<SslContextPtr> contexts_;
    UnixSeconds better_from_ = INT64_MAX;
};

}  // namespace tiderace::tls

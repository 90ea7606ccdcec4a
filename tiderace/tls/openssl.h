// openssl: owners for OpenSSL's objects; its errors, names and times as ours. For the insides of
// this room.
//
// Thread   Any; OpenSSL's error queue is the thread's own.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "tiderace/base/units.h"

namespace tiderace::tls {

template <auto free_it>
struct FreedBy {
    void operator()(auto* object) const { free_it(object); }
};

using BioPtr = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using CipherContextPtr = std::unique_ptr<EVP_CIPHER_CTX, FreedBy<EVP_CIPHER_CTX_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using SslPtr = std::unique_ptr<SSL, FreedBy<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, FreedBy<SSL_CTX_free>>;
using SslSessionPtr = std::unique_ptr<SSL_SESSION, FreedBy<SSL_SESSION_free>>;
using X509Ptr = std::unique_ptr<X509, FreedBy<X509_free>>;

// Empties the queue and returns its first error, in OpenSSL's words without its numbers ("no start
// line"); "" if there was none.
std::string take_openssl_error();
// Why a call of TLS failed.
struct TlsFault {
    int reason = 0;          // ERR_GET_REASON of the first error of TLS itself; 0: there is none
    bool no_memory = false;  // of any library beneath it
};
// Empties the queue.
TlsFault take_tls_fault();

// As RFC 2253 writes it; "" where it cannot be written, for the part of a name may be another's.
std::string subject_text(const X509* certificate);

// 0 for what is no time.
UnixSeconds seconds_of(const ASN1_TIME* time);
// "Nov 20 15:30:26 2026 GMT"
std::string time_text(UnixSeconds time);

}  // namespace tiderace::tls

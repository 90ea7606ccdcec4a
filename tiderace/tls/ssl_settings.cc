#include "tiderace/tls/ssl_settings.h"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace tiderace::tls {
namespace {

constexpr const char* ciphers_13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* ciphers_12 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* groups = "X25519:P-256:P-384";
// Level 2, 112 bits: RSA of 2048, curves of 224, and no SHA-1. Some systems' OpenSSL accepts less.
constexpr int security_level_least = 2;
constexpr const char* groups_post_quantum = "X25519MLKEM768:X25519:P-256:P-384";

}  // namespace

Result<> apply_settings(SSL_CTX* context) {
    if (SSL_CTX_get_security_level(context) < security_level_least) {
        SSL_CTX_set_security_level(context, security_level_least);
    }
    // Renegotiation lets a client force signatures (CVE-2011-1473), compression leaks secrets
    // (CRIME). Our order of ciphers wins, but a client that prefers ChaCha20, having no AES in
    // hardware, gets it.
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    // Without AUTO_RETRY a read returns after each record, so that we see ones without payload.
    // RELEASE_BUFFERS: an idle SSL frees its record buffers, some 34 KB.
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // Sessions live in tickets, so that an idle client costs no memory here.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    const bool good = SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
                      SSL_CTX_set_ciphersuites(context, ciphers_13) == 1 &&
                      SSL_CTX_set_cipher_list(context, ciphers_12) == 1 &&
                      // OpenSSL before 3.5 does not know the post-quantum group, and refuses the
                      // whole list.
                      (SSL_CTX_set1_groups_list(context, groups_post_quantum) == 1 ||
                       SSL_CTX_set1_groups_list(context, groups) == 1);
    std::string why = take_openssl_error();
    if (good) return {};
    return fail(Error(0, "set up", "TLS", why));
}

Result<> trust_authorities(SSL_CTX* context, const std::string& file, std::string_view pem,
                           STACK_OF(X509_NAME) * names) {
    const BioPtr source(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    std::size_t count = 0;
    bool good = true;
    while (good) {
        const X509Ptr one(PEM_read_bio_X509_AUX(source.get(), nullptr, nullptr, nullptr));
        if (one == nullptr) break;
        good = X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get()) == 1;
        if (good && names != nullptr) {
            X509_NAME* name = X509_NAME_dup(X509_get_subject_name(one.get()));
            good = sk_X509_NAME_push(names, name) != 0;
            if (!good) X509_NAME_free(name);
        }
        ++count;
    }
    // The only way in which PEM_read_bio reports that there are no more.
    if (good && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) good = false;
    const std::string why = take_openssl_error();
    if (good && count > 0) return {};
    return fail(Error(0, "load", file,
                      "expected a PEM file of CA certificates" + (why.empty() ? "" : ": " + why)));
}

bool outlives_its_certificate(SSL_SESSION* session, UnixSeconds now) {
    const X509* shown = SSL_SESSION_get0_peer(session);
    return shown != nullptr && seconds_of(X509_get0_notAfter(shown)) <= now;
}

Result<std::string> alpn_bytes(const std::vector<std::string>& protocols) {
    std::string bytes;
    for (const std::string& name : protocols) {
        if (name.empty() || name.size() > 255) {
            return fail(Error(0, "offer the protocol", "\"" + name + "\"", "1 to 255 bytes"));
        }
        bytes += static_cast<char>(name.size());
        bytes += name;
    }
    return bytes;
}

}  // namespace tiderace::tls

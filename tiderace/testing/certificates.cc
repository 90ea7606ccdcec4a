#include "tiderace/testing/certificates.h"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "tiderace/base/check.h"
#include "tiderace/tls/openssl.h"

namespace tiderace::testing {

struct Authority::Pair {
    tls::X509Ptr certificate;
    tls::KeyPtr key;
};

namespace {

tls::KeyPtr make_key(KeyKind kind) {
    EVP_PKEY* key = kind == KeyKind::p256        ? EVP_EC_gen("P-256")
                    : kind == KeyKind::secp256k1 ? EVP_EC_gen("secp256k1")
                    : kind == KeyKind::rsa_1024  ? EVP_RSA_gen(1'024)
                                                 : EVP_RSA_gen(2'048);
    TR_CHECK(key != nullptr);
    return tls::KeyPtr(key);
}

void add_extension(X509* to, int id, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
    TR_CHECK(extension != nullptr);
    X509_add_ext(to, extension, -1);
    X509_EXTENSION_free(extension);
}

tls::X509Ptr make_certificate(const Wanted& wanted, EVP_PKEY* key) {
    tls::X509Ptr made(X509_new());
    X509_set_version(made.get(), X509_VERSION_3);
    // Different for each, as for all that an authority signs (RFC 5280, 4.1.2.2).
    std::uint32_t serial = 0;
    RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
    // Shifted, for it has to be positive, and a long may have 32 bits.
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), static_cast<long>(serial >> 1U));
    X509_gmtime_adj(X509_getm_notBefore(made.get()), wanted.valid_from);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), wanted.valid_until);
    X509_set_pubkey(made.get(), key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(wanted.common_name.c_str()),
                               -1, -1, 0);
    std::string names;
    for (const std::string& name : wanted.names) {
        const bool is_ip = name.find_first_not_of("0123456789.") == std::string::npos ||
                           name.find(':') != std::string::npos;
        names += (names.empty() ? "" : ",") + std::string(is_ip ? "IP:" : "DNS:") + name;
    }
    if (!names.empty()) add_extension(made.get(), NID_subject_alt_name, names);
    return made;
}

std::string read(BIO* bio) {
    char* data = nullptr;
    const long bytes = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(bytes)};
}

std::string pem_of(X509* certificate) {
    tls::BioPtr bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(bio.get(), certificate);
    return read(bio.get());
}

std::string pem_of(EVP_PKEY* key) {
    tls::BioPtr bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    return read(bio.get());
}

}  // namespace

Authority::Authority() : own_(std::make_unique<Pair>()) {
    own_->key = make_key(KeyKind::p256);
    own_->certificate =
        make_certificate({.names = {}, .common_name = "Test Authority"}, own_->key.get());
    // Without it OpenSSL takes the certificate for a server's, which may sign none (RFC 5280,
    // 4.2.1.9).
    add_extension(own_->certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
    X509_set_issuer_name(own_->certificate.get(), X509_get_subject_name(own_->certificate.get()));
    TR_CHECK(X509_sign(own_->certificate.get(), own_->key.get(), EVP_sha256()) > 0);
}

Authority::~Authority() = default;

tls::CertificateFiles Authority::issue(const TemporaryFolder& folder, const std::string& name,
                                       const Wanted& wanted) const {
    const tls::KeyPtr key = make_key(wanted.key);
    const tls::X509Ptr made = make_certificate(wanted, key.get());
    X509_set_issuer_name(made.get(), X509_get_subject_name(own_->certificate.get()));
    TR_CHECK(X509_sign(made.get(), own_->key.get(), EVP_sha256()) > 0);
    // Replaced, not written over: a server under test may be reading them at this moment.
    folder.replace(name + ".pem", pem_of(made.get()) + pem_of(own_->certificate.get()));
    folder.replace(name + ".key", pem_of(key.get()));
    return {folder.path_of(name + ".pem"), folder.path_of(name + ".key")};
}

std::string Authority::write(const TemporaryFolder& folder, const std::string& name) const {
    folder.replace(name, pem_of(own_->certificate.get()));
    return folder.path_of(name);
}

}  // namespace tiderace::testing

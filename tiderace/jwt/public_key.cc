#include "tiderace/jwt/public_key.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <array>
#include <cstddef>
#include <new>

#include "tiderace/base/constant_time.h"

namespace tiderace::jwt {
namespace {

constexpr std::size_t secret_bytes_min = 32;  // RFC 7518, 3.2
constexpr int rsa_bits_min = 2'048;           // RFC 7518, 3.3
constexpr int rsa_bits_max = 8'192;           // bounds the work of one signature
constexpr std::size_t coordinate_bytes = 32;  // of P-256

template <auto free>
struct Free {
    template <typename T>
    void operator()(T* what) const {
        free(what);
    }
};
template <typename T, auto free>
using Owned = std::unique_ptr<T, Free<free>>;

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

template <typename T>
T* made(T* what) {
    if (what == nullptr) throw std::bad_alloc();
    return what;
}

// What is wrong with a key for this algorithm; "": nothing.
std::string_view fault_of(const EVP_PKEY* key, Algorithm algorithm) {
    const int type = EVP_PKEY_get_base_id(key);
    if (algorithm == Algorithm::eddsa) {
        return type == EVP_PKEY_ED25519 ? "" : "it is no key of Ed25519";
    }
    if (algorithm == Algorithm::es256) {
        std::array<char, 32> group{};
        std::size_t size = 0;
        const bool named = type == EVP_PKEY_EC &&
                           EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1;
        return named && std::string_view(group.data(), size) == "prime256v1"
                   ? ""
                   : "it is no key of the curve P-256";
    }
    if (type != EVP_PKEY_RSA) return "it is no key of RSA";
    const int bits = EVP_PKEY_get_bits(key);
    return bits >= rsa_bits_min && bits <= rsa_bits_max ? "" : "a key of RSA has 2048 to 8192 bits";
}

// ECDSA's two numbers in ASN.1, as OpenSSL wants them; RFC 7518, 3.4 has them one after the other.
// "": not of that size.
std::string asn1_of(std::string_view signature) {
    if (signature.size() != 2 * coordinate_bytes) return {};
    const Owned<ECDSA_SIG, ECDSA_SIG_free> numbers(made(ECDSA_SIG_new()));
    BIGNUM* const r = made(BN_bin2bn(bytes_of(signature), coordinate_bytes, nullptr));
    BIGNUM* const s = BN_bin2bn(bytes_of(signature) + coordinate_bytes, coordinate_bytes, nullptr);
    if (s == nullptr) BN_free(r);
    ECDSA_SIG_set0(numbers.get(), r, made(s));  // which owns them now
    unsigned char* text = nullptr;
    const int size = i2d_ECDSA_SIG(numbers.get(), &text);
    if (size < 0) throw std::bad_alloc();
    std::string der(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
    return der;
}

Error refuse(const Key& key, std::string_view why) {
    return Error(0, "key for tokens", key.id.empty() ? "(without id)" : key.id, why);
}

}  // namespace

Result<PublicKey> PublicKey::make(const Key& key) {
    PublicKey ours(key);
    if (key.algorithm == Algorithm::hs256) {
        if (key.text.size() < secret_bytes_min) {
            return fail(refuse(key, "the secret of HS256 has 32 bytes or more"));
        }
        // Everybody who has the public key could sign with it.
        if (key.text.contains("-----BEGIN ")) {
            return fail(refuse(key, "the secret of HS256 is no PEM: name the key's own algorithm"));
        }
        ours.secret_ = key.text;
        return ours;
    }
    const Owned<BIO, BIO_free> text(
        made(BIO_new_mem_buf(key.text.data(), static_cast<int>(key.text.size()))));
    EVP_PKEY* const read = PEM_read_bio_PUBKEY(text.get(), nullptr, nullptr, nullptr);
    ERR_clear_error();
    if (read == nullptr) return fail(refuse(key, "there is no public key in its text (PEM)"));
    ours.key_ = std::shared_ptr<EVP_PKEY>(read, EVP_PKEY_free);
    const std::string_view fault = fault_of(read, key.algorithm);
    if (!fault.empty()) return fail(refuse(key, fault));
    return ours;
}

bool PublicKey::verify(std::string_view text, std::string_view signature) const {
    if (algorithm_ == Algorithm::hs256) {
        std::array<unsigned char, 32> made_here{};
        unsigned size = 0;
        const auto* const done =
            HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()), bytes_of(text),
                 text.size(), made_here.data(), &size);
        if (done == nullptr) throw std::bad_alloc();
        return equals_in_constant_time({reinterpret_cast<const char*>(made_here.data()), size},
                                       signature);
    }
    const bool good = algorithm_ == Algorithm::es256 ? verify_with_key(text, asn1_of(signature))
                                                     : verify_with_key(text, signature);
    if (!good) ERR_clear_error();
    return good;
}

bool PublicKey::verify_with_key(std::string_view text, std::string_view signature) const {
    const Owned<EVP_MD_CTX, EVP_MD_CTX_free> context(made(EVP_MD_CTX_new()));
    // Ed25519 has a hash of its own.
    const EVP_MD* const hash = algorithm_ == Algorithm::eddsa ? nullptr : EVP_sha256();
    auto* const key = static_cast<EVP_PKEY*>(key_.get());
    return EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, key) == 1 &&
           EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(text),
                            text.size()) == 1;
}

}  // namespace tiderace::jwt

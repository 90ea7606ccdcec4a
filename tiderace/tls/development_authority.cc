#include "tiderace/tls/development_authority.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>

#include "tiderace/base/ascii.h"
#include "tiderace/tls/certificate.h"
#include "tiderace/tls/openssl.h"

namespace tiderace::tls {
namespace {

using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>>;
using ConstraintsPtr = std::unique_ptr<NAME_CONSTRAINTS, FreedBy<NAME_CONSTRAINTS_free>>;

constexpr std::size_t common_name_bytes_max = 64;  // RFC 5280, ub-common-name
constexpr std::size_t host_bytes_max = 253;
constexpr std::string_view localhost = "localhost";

// The private ranges, as address and mask: what the authority may sign for and a leaf may name.
struct Range {
    const char* address;
    const char* mask;
};
// Loopback (RFC 1122), private (RFC 1918), link-local (RFC 3927), shared by carriers (RFC 6598,
// some VPNs use it); IPv6's loopback, unique local (RFC 4193) and link-local (RFC 4291) addresses.
constexpr std::array private_ranges{
    Range{"127.0.0.0", "255.0.0.0"},
    Range{"10.0.0.0", "255.0.0.0"},
    Range{"172.16.0.0", "255.240.0.0"},
    Range{"192.168.0.0", "255.255.0.0"},
    Range{"169.254.0.0", "255.255.0.0"},
    Range{"100.64.0.0", "255.192.0.0"},
    Range{"::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    Range{"fc00::", "fe00::"},
    Range{"fe80::", "ffc0::"},
};

Error refused(std::string_view operation, std::string_view object) {
    return Error(0, operation, object, take_openssl_error());
}

std::optional<std::vector<unsigned char>> binary(const std::string& address) {
    std::vector<unsigned char> bytes(16);
    // The length shows the family: OpenSSL's names and constraints have no other mark.
    if (inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) return bytes;
    bytes.resize(4);
    if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) return bytes;
    return std::nullopt;
}

bool within(const std::vector<unsigned char>& address, const Range& range) {
    const auto base = binary(range.address);
    const auto mask = binary(range.mask);
    if (base->size() != address.size()) return false;  // the other family
    for (std::size_t i = 0; i < address.size(); ++i) {
        if ((address[i] & (*mask)[i]) != (*base)[i]) return false;
    }
    return true;
}

bool is_private(const std::vector<unsigned char>& address) {
    return std::ranges::any_of(private_ranges,
                               [&](const Range& range) { return within(address, range); });
}

bool is_ipv4(const std::vector<unsigned char>& address) {
    return address.size() == 4;
}

// Letters, digits, hyphens and dots. Names go into OpenSSL's configuration syntax, where a comma or
// a colon from a host's name could add permissions.
bool is_host(std::string_view host) {
    return !host.empty() && host.size() <= host_bytes_max && host.front() != '.' &&
           host.front() != '-' && host.back() != '.' && std::ranges::all_of(host, [](char c) {
               return is_letter_or_digit(c) || c == '-' || c == '.';
           });
}

template <typename T>
void add_once(std::vector<T>& all, const T& one) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

BioPtr reader(std::string_view text) {
    return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

X509Ptr read_certificate(std::string_view pem) {
    const BioPtr bio = reader(pem);
    X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    ERR_clear_error();
    return certificate;
}

KeyPtr read_key(std::string_view pem) {
    const BioPtr bio = reader(pem);
    // Never prompt for a passphrase: we write our keys unencrypted, so an encrypted one is not
    // ours.
    const auto no_passphrase = [](char*, int, int, void*) { return -1; };
    KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
    ERR_clear_error();
    return key;
}

std::string_view written(const BioPtr& bio) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &bytes);
    return {bytes, static_cast<std::size_t>(std::max(0L, size))};
}

Result<CertificateAndKey> as_pem(const X509Ptr& certificate, const KeyPtr& key) {
    const BioPtr first(BIO_new(BIO_s_mem()));
    // BIO_s_secmem wipes its memory when it is freed.
    const BioPtr second(BIO_new(BIO_s_secmem()));
    if (PEM_write_bio_X509(first.get(), certificate.get()) != 1 ||
        PEM_write_bio_PrivateKey(second.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
            1) {
        return fail(refused("write", "a certificate"));
    }
    return CertificateAndKey{std::string(written(first)), SecretText(written(second))};
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// RFC 5280, 4.1.2.2: positive, unique for the issuer, at most 20 bytes. Random, because nothing
// remembers the last one.
bool set_serial(X509* certificate) {
    std::array<unsigned char, 16> random{};
    if (RAND_bytes(random.data(), random.size()) != 1) return false;
    // the sign bit clear and the next one set: positive, always 16 bytes
    random[0] = static_cast<unsigned char>((random[0] & 0x7f) | 0x40);
    const std::unique_ptr<BIGNUM, FreedBy<BN_free>> number(
        BN_bin2bn(random.data(), random.size(), nullptr));
    return number != nullptr &&
           BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_name(X509_NAME* name, const char* field, const std::string& value) {
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(value.data()),
                                      static_cast<int>(value.size()), -1, 0) == 1;
}

// All but the extensions and the signature.
X509Ptr blank(const KeyPtr& key, const std::string& common_name, UnixSeconds begins,
              UnixSeconds ends) {
    X509Ptr certificate(X509_new());
    X509* x = certificate.get();
    const bool made = x != nullptr && X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
                      ASN1_TIME_set(X509_getm_notBefore(x), begins) != nullptr &&
                      ASN1_TIME_set(X509_getm_notAfter(x), ends) != nullptr &&
                      add_name(X509_get_subject_name(x), "O", "Tiderace development") &&
                      add_name(X509_get_subject_name(x), "CN", common_name) &&
                      X509_set_pubkey(x, key.get()) == 1;
    return made ? std::move(certificate) : nullptr;
}

struct Addition {
    int kind;
    std::string value;
};

bool finish(const X509Ptr& certificate, X509* issuer, const KeyPtr& signer,
            const std::vector<Addition>& additions) {
    for (const Addition& addition : additions) {
        if (!add_extension(certificate.get(), issuer, addition.kind, addition.value)) return false;
    }
    return X509_sign(certificate.get(), signer.get(), EVP_sha256()) > 0;
}

// A name in a constraint also stands for all names below it (RFC 5280, 4.2.1.10); with a dot before
// it, for those below it alone. So a host that is permitted, and excluded with a dot, is exactly
// itself. Names below localhost never leave the machine (RFC 6761, 6.3), so they stay permitted.
std::string constraint(const LocalNames& names) {
    std::string text = "critical";
    for (const std::string& host : names.hosts) {
        text.append(",permitted;DNS:").append(host);
        if (host != localhost) text.append(",excluded;DNS:.").append(host);
    }
    for (const Range& range : private_ranges) {
        text.append(",permitted;IP:").append(range.address).append("/").append(range.mask);
    }
    for (const std::string& address : names.addresses) {
        const auto bytes = binary(address);
        // Private ones are permitted as a range above.
        if (!bytes || is_private(*bytes) || !is_ipv4(*bytes)) continue;
        text.append(",permitted;IP:").append(address).append("/255.255.255.255");
    }
    return text;
}

std::string subject_alternatives(const LocalNames& names) {
    std::string text;
    for (const std::string& host : names.hosts) text.append(",DNS:").append(host);
    for (const std::string& address : names.addresses) text.append(",IP:").append(address);
    return text.substr(1);  // without the first comma
}

bool is_pair_with_time_left(const X509Ptr& certificate, const KeyPtr& key, UnixSeconds now,
                            UnixSeconds spare_days) {
    return certificate != nullptr && key != nullptr &&
           X509_check_private_key(certificate.get(), key.get()) == 1 &&
           seconds_of(X509_get0_notBefore(certificate.get())) <= now &&
           seconds_of(X509_get0_notAfter(certificate.get())) >= now + spare_days * seconds_per_day;
}

ConstraintsPtr constraints_of(X509* authority) {
    return ConstraintsPtr(static_cast<NAME_CONSTRAINTS*>(
        X509_get_ext_d2i(authority, NID_name_constraints, nullptr, nullptr)));
}

std::string_view bytes_of(const ASN1_STRING* string) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
            static_cast<std::size_t>(ASN1_STRING_length(string))};
}

// The host names in one list of subtrees.
std::vector<std::string> hosts_in(const STACK_OF(GENERAL_SUBTREE) * subtrees) {
    std::vector<std::string> hosts;
    for (int i = 0; i < sk_GENERAL_SUBTREE_num(subtrees); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_SUBTREE_value(subtrees, i)->base;
        if (name->type == GEN_DNS) hosts.emplace_back(bytes_of(name->d.dNSName));
    }
    return hosts;
}

std::string address_text(std::string_view bytes) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text.data(), text.size());
    return text.data();
}

// "" unless `range`, an address and its mask, is one address alone.
std::string only_address(std::string_view range) {
    const std::size_t half = range.size() / 2;
    if ((half != 4 && half != 16) || range.size() % 2 != 0) return {};
    for (const char c : range.substr(half)) {
        if (c != '\xff') return {};
    }
    return address_text(range.substr(0, half));
}

bool is_private_range(std::string_view range) {
    return std::ranges::any_of(private_ranges, [&](const Range& known) {
        std::vector<unsigned char> bytes = *binary(known.address);
        const std::vector<unsigned char> mask = *binary(known.mask);
        bytes.insert(bytes.end(), mask.begin(), mask.end());
        return std::ranges::equal(bytes, range, {}, {},
                                  [](char c) { return static_cast<unsigned char>(c); });
    });
}

// Whether it may sign for no more than make_authority() allows: one of an older version may.
bool is_narrow(const NAME_CONSTRAINTS* constraints) {
    const std::vector<std::string> excluded = hosts_in(constraints->excludedSubtrees);
    for (int i = 0; i < sk_GENERAL_SUBTREE_num(constraints->permittedSubtrees); ++i) {
        const GENERAL_NAME* name =
            sk_GENERAL_SUBTREE_value(constraints->permittedSubtrees, i)->base;
        if (name->type == GEN_DNS) {
            const std::string host(bytes_of(name->d.dNSName));
            if (host != localhost && std::ranges::find(excluded, '.' + host) == excluded.end()) {
                return false;
            }
        } else if (name->type != GEN_IPADD || (!is_private_range(bytes_of(name->d.iPAddress)) &&
                                               only_address(bytes_of(name->d.iPAddress)).empty())) {
            return false;
        }
    }
    return true;
}

// Whether the authority's own constraint lets it sign for all of them. OpenSSL decides, on a
// certificate that names them, as a client's library will.
bool permits(X509* authority, const LocalNames& names) {
    const ConstraintsPtr constraints = constraints_of(authority);
    // Never signed: it exists for the check only.
    const X509Ptr probe(X509_new());
    if (constraints == nullptr || probe == nullptr || !is_narrow(constraints.get()) ||
        !add_extension(probe.get(), nullptr, NID_subject_alt_name, subject_alternatives(names))) {
        return false;
    }
    X509_check_purpose(probe.get(), -1, 0);  // takes the names out of the extension
    return NAME_CONSTRAINTS_check(probe.get(), constraints.get()) == X509_V_OK;
}

bool names_all(X509* leaf, const LocalNames& names) {
    return std::ranges::all_of(names.hosts,
                               [&](const std::string& host) {
                                   return X509_check_host(leaf, host.data(), host.size(), 0,
                                                          nullptr) == 1;
                               }) &&
           std::ranges::all_of(names.addresses, [&](const std::string& address) {
               return X509_check_ip_asc(leaf, address.c_str(), 0) == 1;
           });
}

}  // namespace

LocalNames local_names(std::string_view host_name, const std::vector<std::string>& addresses) {
    LocalNames names{{std::string(localhost)}, {"127.0.0.1", "::1"}};
    if (is_host(host_name)) {
        const std::string host = lower_case(host_name);
        const bool is_plain = host != localhost && host.find('.') == std::string::npos;
        // No machine's name, but the domain of all of them (RFC 6762).
        if (host != "local") add_once(names.hosts, host);
        // The name under which multicast DNS announces this machine (RFC 6762).
        if (is_plain) add_once(names.hosts, host + ".local");
    }
    for (const std::string& address : addresses) {
        const auto bytes = binary(address);
        // A public IPv6 address may be one of a host's many and short-lived ones (RFC 8981): each
        // would need another authority.
        if (bytes && (is_private(*bytes) || is_ipv4(*bytes))) add_once(names.addresses, address);
    }
    return names;
}

Result<CertificateAndKey> make_authority(const LocalNames& names, UnixSeconds now) {
    std::string name = "Tiderace local authority";
    if (names.hosts.size() > 1) name.append(" of ").append(names.hosts[1]);
    name.resize(std::min(name.size(), common_name_bytes_max));

    const KeyPtr key(EVP_EC_gen("P-256"));
    if (key == nullptr) return fail(refused("make", "a P-256 key"));
    // A day early: clocks of phones and virtual machines differ.
    const X509Ptr certificate =
        blank(key, name, now - seconds_per_day, now + authority_days * seconds_per_day);
    const bool made =
        certificate != nullptr &&
        X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get())) == 1 &&
        finish(certificate, certificate.get(), key,
               // No authority below it, servers only: a stolen key cannot be turned into anything
               // wider.
               {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                {NID_key_usage, "critical,keyCertSign,cRLSign"},
                {NID_ext_key_usage, "serverAuth"},
                {NID_name_constraints, constraint(names)},
                {NID_subject_key_identifier, "hash"}});
    if (!made) return fail(refused("make", "a local certificate authority"));
    return as_pem(certificate, key);
}

Result<CertificateAndKey> make_leaf(const CertificateAndKey& authority, const LocalNames& names,
                                    UnixSeconds now) {
    const X509Ptr issuer = read_certificate(authority.certificate);
    const KeyPtr signer = read_key(authority.key);
    if (issuer == nullptr || signer == nullptr) {
        return fail(Error(0, "read", "the local certificate authority", "it is not PEM"));
    }
    const KeyPtr key(EVP_EC_gen("P-256"));
    if (key == nullptr) return fail(refused("make", "a P-256 key"));
    // It begins a day early, so that the whole span is leaf_days; and never outlives its issuer.
    const UnixSeconds ends = std::min(now + (leaf_days - 1) * seconds_per_day,
                                      seconds_of(X509_get0_notAfter(issuer.get())));
    const X509Ptr certificate = blank(key, "localhost", now - seconds_per_day, ends);
    const bool made =
        certificate != nullptr &&
        X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get())) == 1 &&
        finish(certificate, issuer.get(), signer,
               {{NID_basic_constraints, "critical,CA:FALSE"},
                {NID_key_usage, "critical,digitalSignature"},
                {NID_ext_key_usage, "serverAuth"},
                {NID_subject_alt_name, subject_alternatives(names)},
                {NID_subject_key_identifier, "hash"},
                {NID_authority_key_identifier, "keyid:always"}});
    if (!made) return fail(refused("make", "a local certificate"));
    return as_pem(certificate, key);
}

bool authority_serves(const CertificateAndKey& authority, const LocalNames& names,
                      UnixSeconds now) {
    const X509Ptr certificate = read_certificate(authority.certificate);
    const KeyPtr key = read_key(authority.key);
    const bool serves = is_pair_with_time_left(certificate, key, now, authority_spare_days) &&
                        permits(certificate.get(), names);
    ERR_clear_error();
    return serves;
}

bool leaf_serves(const CertificateAndKey& leaf, const CertificateAndKey& authority,
                 const LocalNames& names, UnixSeconds now) {
    const X509Ptr certificate = read_certificate(leaf.certificate);
    const X509Ptr issuer = read_certificate(authority.certificate);
    const KeyPtr key = read_key(leaf.key);
    const bool serves = is_pair_with_time_left(certificate, key, now, leaf_spare_days) &&
                        issuer != nullptr &&
                        // The signature, not just the name: an authority that was made anew has the
                        // same name.
                        X509_verify(certificate.get(), X509_get0_pubkey(issuer.get())) == 1 &&
                        names_all(certificate.get(), names);
    ERR_clear_error();
    return serves;
}

LocalNames names_of_authority(std::string_view certificate_pem) {
    LocalNames names;
    const X509Ptr certificate = read_certificate(certificate_pem);
    const ConstraintsPtr constraints =
        certificate != nullptr ? constraints_of(certificate.get()) : nullptr;
    if (constraints == nullptr) return names;
    names.hosts = hosts_in(constraints->permittedSubtrees);
    for (int i = 0; i < sk_GENERAL_SUBTREE_num(constraints->permittedSubtrees); ++i) {
        const GENERAL_NAME* name =
            sk_GENERAL_SUBTREE_value(constraints->permittedSubtrees, i)->base;
        if (name->type != GEN_IPADD || is_private_range(bytes_of(name->d.iPAddress))) continue;
        names.addresses.push_back(only_address(bytes_of(name->d.iPAddress)));
    }
    return names;
}

std::vector<std::string> private_range_texts() {
    std::vector<std::string> texts;
    for (const Range& range : private_ranges) {
        const std::vector<unsigned char> mask = *binary(range.mask);
        std::size_t bits = 0;
        for (const unsigned char byte : mask) bits += static_cast<std::size_t>(std::popcount(byte));
        const bool is_one = bits == 8 * mask.size();
        texts.push_back(std::string(range.address) + (is_one ? "" : '/' + std::to_string(bits)));
    }
    return texts;
}

std::string fingerprint(std::string_view certificate_pem) {
    const X509Ptr certificate = read_certificate(certificate_pem);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (certificate == nullptr ||
        X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size) != 1) {
        return {};
    }
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
        if (i > 0) text += ':';
        text += capital_hex_digits[digest[i] >> 4];
        text += capital_hex_digits[digest[i] & 15];
    }
    return text;
}

UnixSeconds ends_at(std::string_view certificate_pem) {
    const X509Ptr certificate = read_certificate(certificate_pem);
    return certificate == nullptr ? 0 : seconds_of(X509_get0_notAfter(certificate.get()));
}

}  // namespace tiderace::tls

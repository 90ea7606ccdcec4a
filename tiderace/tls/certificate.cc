#include "tiderace/tls/certificate.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/tls/pem.h"
#include "tiderace/tls/read_file.h"

namespace tiderace::tls {
namespace {

std::unexpected<Error> refuse(const std::string& file, std::size_t line, std::string_view why) {
    const std::string place = line > 0 ? file + " line " + std::to_string(line) : file;
    return fail(Error(0, "load", place, why));
}

bool is_key(std::string_view label) {
    return label.ends_with("PRIVATE KEY");
}

// The fault of a file without a block of the right kind.
std::string why_none(ByteView text, const PemBlocks& found, std::string_view wanted,
                     bool other_kind, bool is_both = false) {
    if (text.empty()) return "the file is empty";
    if (other_kind && wanted == "PRIVATE KEY" && is_both) {
        return "found a certificate and no key in it; the key's file is named behind it: CERT,KEY";
    }
    if (other_kind) {
        return "expected " + std::string(wanted) + " and found " +
               std::string(found.blocks.front().label) + ": are the two files swapped?";
    }
    // 0x30 is the tag of a SEQUENCE, with which every certificate and key in DER begins.
    if (text.front() == '\x30') {
        return "the file is DER, expected PEM; `openssl x509` and `openssl pkey` convert it";
    }
    return "expected a PEM block \"-----BEGIN " + std::string(wanted) + "-----\", found none";
}

BioPtr memory_bio(std::string_view text) {
    return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Without a callback OpenSSL would prompt on the terminal and hang a server that has none.
int no_password(char*, int, int, void*) {
    return -1;
}

Result<> load_chain(Certificate& into) {
    const std::string& file = into.files.certificate;
    auto text = read_file(file, Certificate::file_bytes_max);
    if (!text) return fail(text.error());
    const PemBlocks found = find_pem_blocks(*text);
    if (found.unended_line > 0) {
        return refuse(file, found.unended_line, "this block has no END line: is the file whole?");
    }
    bool has_key = false;
    for (const PemBlock& block : found.blocks) {
        // A key in the certificate's file is normal (one file for both); it is noted for the
        // message.
        has_key = has_key || is_key(block.label);
        if (block.label != "CERTIFICATE" && block.label != "X509 CERTIFICATE") continue;
        X509Ptr read(
            PEM_read_bio_X509(memory_bio(block.text).get(), nullptr, no_password, nullptr));
        if (read == nullptr) {
            return refuse(file, block.line,
                          "the CERTIFICATE block is damaged: " + take_openssl_error());
        }
        // The first one is the server's own, the others lead to its authority (RFC 8446, 4.4.2).
        if (into.leaf == nullptr) {
            into.leaf = std::move(read);
        } else {
            into.chain.push_back(std::move(read));
        }
    }
    if (into.leaf == nullptr) {
        return refuse(file, 0, why_none(*text, found, "CERTIFICATE", has_key));
    }
    return {};
}

Result<> load_key(Certificate& into) {
    const std::string& file = into.files.key;
    auto text = read_file(file, Certificate::file_bytes_max);
    if (!text) return fail(text.error());
    const PemBlocks found = find_pem_blocks(*text);
    if (found.unended_line > 0) {
        return refuse(file, found.unended_line, "this block has no END line: is the file whole?");
    }
    const auto key = std::ranges::find_if(
        found.blocks, [](const PemBlock& block) { return is_key(block.label); });
    if (key == found.blocks.end()) {
        return refuse(file, 0,
                      why_none(*text, found, "PRIVATE KEY", !found.blocks.empty(),
                               file == into.files.certificate));
    }
    // PKCS #8 has a label of its own; the older formats have it in a header.
    if (key->label == "ENCRYPTED PRIVATE KEY" ||
        key->text.find("Proc-Type: 4,ENCRYPTED") != std::string_view::npos) {
        return refuse(file, key->line,
                      "the key is encrypted, expected one without a password; "
                      "`openssl pkey -in FILE -out NEW` takes the password off");
    }
    into.key.reset(
        PEM_read_bio_PrivateKey(memory_bio(key->text).get(), nullptr, no_password, nullptr));
    if (into.key == nullptr) {
        return refuse(
            file, key->line,
            "the " + std::string(key->label) + " block is damaged: " + take_openssl_error());
    }
    return {};
}

// Failed checks leave entries in the thread's error queue, which a later SSL_get_error() would take
// for its own, so each is cleared.
Result<> check_pair(const Certificate& pair) {
    if (X509_check_private_key(pair.leaf.get(), pair.key.get()) == 1) return {};
    take_openssl_error();
    const bool further_down = std::ranges::any_of(pair.chain, [&](const X509Ptr& other) {
        return X509_check_private_key(other.get(), pair.key.get()) == 1;
    });
    take_openssl_error();
    if (further_down) {
        return refuse(pair.files.certificate, 0,
                      "the server's own certificate has to be the first one of the file");
    }
    return refuse(pair.files.key, 0,
                  "the key does not belong to the certificate in " + pair.files.certificate);
}

// OpenSSL accepts any key here, but with these no client could agree on a signature algorithm; each
// TLS 1.3 algorithm for ECDSA names its curve (RFC 8446, 4.2.3).
Result<> check_kind(const Certificate& pair) {
    const int kind = EVP_PKEY_get_base_id(pair.key.get());
    if (kind == EVP_PKEY_DSA) {
        return refuse(pair.files.key, 0, "the key is one for DSA; expected ECDSA, Ed25519 or RSA");
    }
    if (kind != EVP_PKEY_EC) return {};
    std::array<char, 80> curve{"of its own"};
    std::size_t bytes = 0;
    EVP_PKEY_get_group_name(pair.key.get(), curve.data(), curve.size(), &bytes);
    take_openssl_error();
    for (const std::string_view good : {"prime256v1", "secp384r1", "secp521r1"}) {
        if (good == curve.data()) return {};
    }
    return refuse(pair.files.key, 0,
                  "no client takes a key of the curve " + std::string(curve.data()) +
                      "; expected P-256, P-384 or P-521");
}

using NamesPtr = std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>>;

std::string text_of(const ASN1_STRING* string) {
    return lower_case({reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
                       static_cast<std::size_t>(ASN1_STRING_length(string))});
}

// Lower case: SNI is compared with them byte by byte.
std::vector<std::string> names_of(X509* leaf) {
    std::vector<std::string> names;
    const NamesPtr alternatives(static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(leaf, NID_subject_alt_name, nullptr, nullptr)));
    for (int i = 0; i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives.get(), i);
        if (name->type == GEN_DNS) names.push_back(text_of(name->d.dNSName));
    }
    // The common name counts only without alternative names (RFC 6125, 6.4.4).
    if (alternatives != nullptr) return names;
    X509_NAME* subject = X509_get_subject_name(leaf);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at >= 0) {
        names.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
    }
    return names;
}

void warn(Certificate& pair, UnixSeconds now) {
    if (pair.ends <= now) {
        pair.warnings.push_back(pair.expired_text());
    }
    if (pair.begins > now) {
        pair.warnings.push_back(pair.files.certificate + " is not valid before " +
                                time_text(pair.begins));
    }
}

}  // namespace

Result<Certificate> Certificate::load(const CertificateFiles& files) {
    Certificate made;
    made.files = files;
    for (auto step : {load_chain, load_key}) {
        if (auto done = step(made); !done) return fail(done.error());
    }
    for (auto check : {check_pair, check_kind}) {
        // An expired certificate is no error: a server that does not start is worse than a warning.
        if (auto done = check(made); !done) return fail(done.error());
    }
    made.names = names_of(made.leaf.get());
    made.begins = seconds_of(X509_get0_notBefore(made.leaf.get()));
    made.ends = seconds_of(X509_get0_notAfter(made.leaf.get()));
    warn(made, std::time(nullptr));
    return made;
}

Certificate Certificate::share() const {
    // The parts are shared by reference count, not copied: OpenSSL objects are not changed after
    // load.
    const auto shared = [](const X509Ptr& one) {
        X509_up_ref(one.get());
        return X509Ptr(one.get());
    };
    Certificate copy;
    copy.files = files;
    copy.leaf = shared(leaf);
    for (const X509Ptr& other : chain) copy.chain.push_back(shared(other));
    EVP_PKEY_up_ref(key.get());
    copy.key.reset(key.get());
    copy.begins = begins;
    copy.ends = ends;
    copy.names = names;
    return copy;
}

Result<> Certificate::use_in(SSL_CTX* context) const {
    take_openssl_error();  // an earlier call's
    if (SSL_CTX_use_certificate(context, leaf.get()) == 1 &&
        SSL_CTX_use_PrivateKey(context, key.get()) == 1) {
        // The chain belongs to the certificate that was set last.
        SSL_CTX_clear_chain_certs(context);
        for (const X509Ptr& other : chain) {
            if (SSL_CTX_add1_chain_cert(context, other.get()) != 1) break;
        }
    }
    // OpenSSL refuses keys and signatures below its security level here, with a terse reason.
    if (const std::string why = take_openssl_error(); !why.empty()) {
        return fail(Error(0, "use", files.certificate,
                          why + "; expected RSA of 2048 bits or P-256 at least, and signatures "
                                "with SHA-256 at least"));
    }
    return {};
}

std::string Certificate::expired_text() const {
    return files.certificate + " expired on " + time_text(ends);
}

}  // namespace tiderace::tls

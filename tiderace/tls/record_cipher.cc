#include "tiderace/tls/record_cipher.h"

#include <openssl/hmac.h>

#include <cstring>
#include <new>

#include "tiderace/base/check.h"

namespace tiderace::tls {
namespace {

// HKDF-Expand-Label (RFC 8446, 7.1) for outputs of at most one hash, which all of ours are.
void expand_label(const Suite13& suite, const TrafficSecrets::Secret& secret,
                  std::string_view label, std::span<unsigned char> into) {
    // HkdfLabel: the length of the output, then label and context, each with its length before it.
    // The longest label here is "traffic upd": 2 + 1 + 17 + 1 + 1 bytes.
    std::array<unsigned char, 64> info{};
    std::size_t at = 0;
    const auto put = [&](std::size_t byte) { info[at++] = static_cast<unsigned char>(byte); };
    put(into.size() >> 8U);
    put(into.size());
    put(6 + label.size());
    for (const char letter : std::string_view("tls13 ")) put(static_cast<unsigned char>(letter));
    for (const char letter : label) put(static_cast<unsigned char>(letter));
    put(0);  // no context
    put(1);  // the first block of HKDF-Expand
    std::array<unsigned char, EVP_MAX_MD_SIZE> made;
    unsigned made_bytes = 0;
    if (HMAC(suite.digest, secret.data(), static_cast<int>(suite.secret_bytes), info.data(), at,
             made.data(), &made_bytes) == nullptr) {
        throw std::bad_alloc();  // there is nothing else that it could lack
    }
    TR_CHECK(into.size() <= made_bytes, "a key longer than its hash");
    std::memcpy(into.data(), made.data(), into.size());
    OPENSSL_cleanse(made.data(), made.size());
}

unsigned char* bytes_of(char* text) {
    return reinterpret_cast<unsigned char*>(text);
}

}  // namespace

const Suite13* Suite13::find(const SSL_CIPHER* negotiated) {
    // Fetched once: every fetch takes a lock that all threads share.
    static const Suite13 aes_128{EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr),
                                 EVP_MD_fetch(nullptr, "SHA256", nullptr), 16, 32};
    static const Suite13 aes_256{EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr),
                                 EVP_MD_fetch(nullptr, "SHA384", nullptr), 32, 48};
    static const Suite13 chacha{EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr),
                                EVP_MD_fetch(nullptr, "SHA256", nullptr), 32, 32};
    const Suite13* found = nullptr;
    switch (negotiated != nullptr ? SSL_CIPHER_get_protocol_id(negotiated) : 0) {
        case 0x1301:
            found = &aes_128;
            break;
        case 0x1302:
            found = &aes_256;
            break;
        case 0x1303:
            found = &chacha;
            break;
        default:
            break;
    }
    // Absent: such an OpenSSL (FIPS, say) would not have negotiated it either.
    return found != nullptr && found->cipher != nullptr && found->digest != nullptr ? found
                                                                                    : nullptr;
}

RecordCipher::RecordCipher(const Suite13& suite, const TrafficSecrets::Secret& secret,
                           Direction direction, std::uint64_t sequence)
    : suite_(&suite), context_(EVP_CIPHER_CTX_new()), secret_(secret), direction_(direction) {
    if (context_ == nullptr) throw std::bad_alloc();
    key();
    sequence_ = sequence;
}

RecordCipher::~RecordCipher() {
    OPENSSL_cleanse(secret_.data(), secret_.size());
}

void RecordCipher::key() {
    std::array<unsigned char, 32> key{};
    expand_label(*suite_, secret_, "key", {key.data(), suite_->key_bytes});
    expand_label(*suite_, secret_, "iv", iv_);
    // Without a nonce: each record sets its own.
    const int keyed = EVP_CipherInit_ex2(context_.get(), suite_->cipher, key.data(), nullptr,
                                         direction_ == Direction::seal ? 1 : 0, nullptr);
    OPENSSL_cleanse(key.data(), key.size());
    if (keyed != 1) throw std::bad_alloc();
    sequence_ = 0;
}

// RFC 8446, 7.2. The old secret is overwritten, so that a later theft opens no earlier record.
void RecordCipher::update() {
    TrafficSecrets::Secret next{};
    expand_label(*suite_, secret_, "traffic upd", {next.data(), suite_->secret_bytes});
    secret_ = next;
    OPENSSL_cleanse(next.data(), next.size());
    key();
}

// RFC 8446, 5.3: the nonce is the IV with the sequence number in its last 8 bytes. The header is
// authenticated as well, so that no one can change a record's length.
void RecordCipher::start_record(const unsigned char* header) {
    std::array<unsigned char, 12> nonce = iv_;
    for (unsigned i = 0; i < 8; ++i) {
        nonce[11 - i] ^= static_cast<unsigned char>(sequence_ >> (8 * i));
    }
    ++sequence_;
    int ignored = 0;
    // With a key set neither call can fail; a failure here would reuse a nonce.
    TR_CHECK(EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, nonce.data(), -1, nullptr) == 1 &&
                 EVP_CipherUpdate(context_.get(), nullptr, &ignored, header,
                                  static_cast<int>(header_bytes)) == 1,
             "starting a record failed");
}

void RecordCipher::seal(ContentType type, std::span<const iovec> pieces, std::size_t bytes,
                        char* to) {
    // Every record looks like application data of TLS 1.2; its true type is the last encrypted byte
    // (RFC 8446, 5.2).
    unsigned char* at = bytes_of(to);
    const std::size_t ciphered = bytes + 1 + tag_bytes;
    at[0] = static_cast<unsigned char>(ContentType::application_data);
    // 0x0303, the version of TLS 1.2, which middleboxes know (RFC 8446, 5.1).
    at[1] = 3;
    at[2] = 3;
    at[3] = static_cast<unsigned char>(ciphered >> 8U);
    at[4] = static_cast<unsigned char>(ciphered);
    start_record(at);
    at += header_bytes;
    int done = 0;
    bool good = true;
    for (const iovec& piece : pieces) {
        good = good && EVP_CipherUpdate(context_.get(), at, &done,
                                        static_cast<const unsigned char*>(piece.iov_base),
                                        static_cast<int>(piece.iov_len)) == 1;
        // Each of these ciphers is a stream: as many bytes come out as went in, so pieces of any
        // length follow each other without a seam.
        at += done;
    }
    const auto inner_type = static_cast<unsigned char>(type);
    good = good && EVP_CipherUpdate(context_.get(), at, &done, &inner_type, 1) == 1;
    at += 1;
    good = good && EVP_CipherFinal_ex(context_.get(), at, &done) == 1 &&
           EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_bytes),
                               at) == 1;
    TR_CHECK(good, "sealing a record failed");
}

// Writes to `to` before the tag is checked: the caller reads nothing from there after npos.
std::size_t RecordCipher::open(ByteView record, char* to) {
    if (record.size() < header_bytes + 1 + tag_bytes) return ByteView::npos;
    const auto* at = reinterpret_cast<const unsigned char*>(record.data());
    start_record(at);
    const std::size_t bytes = record.size() - header_bytes - tag_bytes;
    int done = 0;
    // Copied, because OpenSSL takes it without const.
    std::array<unsigned char, tag_bytes> tag;
    std::memcpy(tag.data(), at + header_bytes + bytes, tag_bytes);
    const bool good = EVP_CipherUpdate(context_.get(), bytes_of(to), &done, at + header_bytes,
                                       static_cast<int>(bytes)) == 1 &&
                      EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG,
                                          static_cast<int>(tag_bytes), tag.data()) == 1 &&
                      EVP_CipherFinal_ex(context_.get(), bytes_of(to) + done, &done) == 1;
    return good ? bytes : ByteView::npos;
}

}  // namespace tiderace::tls

#include "tiderace/tls/ssl_records.h"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "tiderace/base/ascii.h"

namespace tiderace::tls {
namespace {

HandshakeFailure failure_of(int reason) {
    switch (reason) {
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_VERSION_TOO_LOW:
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_UNKNOWN_PROTOCOL:
            return HandshakeFailure::protocol_version;
        case SSL_R_NO_SHARED_CIPHER:
        case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
        case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        case SSL_R_NO_SUITABLE_KEY_SHARE:
        case SSL_R_NO_SHARED_GROUPS:
            return HandshakeFailure::no_shared_cipher;
        case SSL_R_NO_APPLICATION_PROTOCOL:
            return HandshakeFailure::no_shared_protocol;
        case SSL_R_CERTIFICATE_VERIFY_FAILED:
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return HandshakeFailure::certificate;
        default:
            // From SSL_AD_REASON_OFFSET on, a reason is an alert that the peer sent.
            return reason >= SSL_AD_REASON_OFFSET ? HandshakeFailure::peer_alert
                                                  : HandshakeFailure::bad_message;
    }
}

// The next bytes of `plain` in one piece: where they are, or copied to `block`.
struct Piece {
    ByteView bytes;
    int error = 0;
};

Piece next_piece(const core::SendQueue& plain, std::span<char> block, core::Kernel& kernel) {
    std::array<iovec, 16> pieces;
    const std::size_t count = plain.gather(pieces);
    if (count == 0) {
        const core::SendQueue::FileRange range = plain.front_file();
        const std::size_t wanted = std::min<std::uint64_t>(range.bytes, block.size());
        const ssize_t got = kernel.read_at(range.descriptor, block.data(), wanted,
                                           static_cast<off_t>(range.offset));
        if (got <= 0) return {.bytes = {}, .error = got == 0 ? -EBADMSG : static_cast<int>(got)};
        return {{block.data(), static_cast<std::size_t>(got)}};
    }
    // Small pieces (a head, then a body) are copied together, because each record costs 22 to 29
    // bytes and a start of the cipher; a large piece is sealed where it is.
    if (count == 1 || pieces[0].iov_len >= block.size()) {
        return {{static_cast<const char*>(pieces[0].iov_base),
                 std::min(pieces[0].iov_len, block.size())}};
    }
    std::size_t copied = 0;
    for (std::size_t i = 0; i < count && copied < block.size(); ++i) {
        const std::size_t bytes = std::min(pieces[i].iov_len, block.size() - copied);
        std::memcpy(block.data() + copied, pieces[i].iov_base, bytes);
        copied += bytes;
    }
    return {{block.data(), copied}};
}

// A HelloRetryRequest is a ServerHello whose random bytes are these (RFC 8446, 4.1.3).
bool is_retry(ByteView message) {
    constexpr ByteView random(
        "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
        "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c",
        32);
    // Behind its type, length and version.
    constexpr std::size_t at = 1 + 3 + 2;
    return message.size() >= at + random.size() && message.front() == SSL3_MT_SERVER_HELLO &&
           message.substr(at, random.size()) == random;
}

}  // namespace

SslRecords::SslRecords(SslPtr ssl)
    : Records(header_bytes + SSL3_RT_MAX_ENCRYPTED_LENGTH), ssl_(std::move(ssl)) {
    if (ssl_ == nullptr) throw std::bad_alloc();  // SSL_new() lacks nothing else
    // One BIO for both directions; the SSL owns it, and it points into this object, which outlives
    // the SSL.
    BIO* bio = make_stream_bio(stream_);
    if (bio == nullptr) throw std::bad_alloc();
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_msg_callback(ssl_.get(), &SslRecords::on_message);
    SSL_set_msg_callback_arg(ssl_.get(), this);
}

// Counts the records that OpenSSL writes: our own record layer has to continue its sequence
// numbers. Notes the EncryptedExtensions, and that there will be a second hello, which OpenSSL does
// not show otherwise.
void SslRecords::on_message(int written, int, int type, const void* data, std::size_t bytes, SSL*,
                            void* self) {
    if (written == 0) return;
    auto& records = *static_cast<SslRecords*>(self);
    const ByteView message(static_cast<const char*>(data), bytes);
    if (type == SSL3_RT_HEADER) {
        ++records.records_written_;
    } else if (type == SSL3_RT_HANDSHAKE && !message.empty() &&
               message.front() == SSL3_MT_ENCRYPTED_EXTENSIONS) {
        records.agreement_ = read_encrypted_extensions(message);
    } else if (type == SSL3_RT_HANDSHAKE && is_retry(message)) {
        records.retries_ = true;
    }
}

void SslRecords::on_key_log(const SSL* ssl, const char* line) {
    auto* self = static_cast<SslRecords*>(SSL_get_app_data(ssl));
    if (self == nullptr) return;
    const bool had_client = self->secrets_.has_client;
    self->secrets_.take_line(line);
    // The client's secret comes with its Finished: what a server writes from then on, it writes
    // with its own traffic keys.
    if (!had_client && self->secrets_.has_client) {
        self->secrets_.server_wrote = self->records_written_;
    }
}

SslRecords::Stepped SslRecords::handshake(ByteView in, Out out) {
    stream_ = {.in = in, .out = &out.queue, .pool = &out.pool};
    // SSL_get_error() also reads the thread's error queue, so it must be empty before each call.
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    Stepped stepped{.used = in.size() - stream_.in.size()};
    if (done == 1) {
        stepped.progress = Progress::done;
        // The difference is what was written under the traffic key: the sequence number that our
        // own layer continues with (tickets, usually one).
        secrets_.server_wrote = records_written_ - secrets_.server_wrote;
    } else if (SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ) {
        // WANT_READ is all that may be missing: the BIO accepts every write.
        stepped.progress = Progress::failed;
        const TlsFault fault = take_tls_fault();
        if (fault.no_memory) throw std::bad_alloc();
        stepped.why = failure_of(fault.reason);
        const char* words = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, fault.reason));
        if (words != nullptr) stepped.words = words;
        // "certificate verify failed" has a reason of its own.
        const long verified = SSL_get_verify_result(ssl_.get());
        if (stepped.why == HandshakeFailure::certificate && verified != X509_V_OK) {
            stepped.words = X509_verify_cert_error_string(verified);
        }
    }
    return stepped;
}

net::TransportSecurity SslRecords::security() const {
    SSL* const ssl = ssl_.get();
    net::TransportSecurity made;
    const unsigned char* chosen = nullptr;
    unsigned bytes = 0;
    SSL_get0_alpn_selected(ssl, &chosen, &bytes);
    made.protocol = {reinterpret_cast<const char*>(chosen), bytes};
    made.version = SSL_get_version(ssl);
    made.cipher = SSL_CIPHER_standard_name(SSL_get_current_cipher(ssl));
    if (const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name); name != nullptr) {
        // Host names have no case (RFC 4343); the comparisons above this layer rely on lower case.
        made.server_name = lower_case(name);
    }
    // Only a verified certificate names a client: with `optional`, an unverified one must not.
    const bool verified = SSL_is_server(ssl) == 1 && SSL_get_verify_result(ssl) == X509_V_OK;
    X509* const client = verified ? SSL_get0_peer_certificate(ssl) : nullptr;
    made.client_verified = client != nullptr;
    if (client != nullptr) made.client = subject_text(client);
    made.resumed = SSL_session_reused(ssl) == 1;
    return made;
}

Records::Opened SslRecords::open(ByteView in, std::span<char> plain, Out out) {
    stream_ = {.in = in, .out = &out.queue, .pool = &out.pool};
    Opened opened;
    for (;;) {
        // Stop while a whole record still fits: OpenSSL would keep the rest of one inside, where a
        // transport that waits for the socket would never come to read it.
        if (plain.size() - opened.plain < payload_bytes_max) {
            opened.event = Event::full;
            break;
        }
        ERR_clear_error();
        std::size_t got = 0;
        const int done =
            SSL_read_ex(ssl_.get(), plain.data() + opened.plain, plain.size() - opened.plain, &got);
        if (done == 1) {
            opened.plain += got;
            continue;
        }
        const int error = SSL_get_error(ssl_.get(), done);
        // It consumed a message that has no payload for the observer (a ticket, say). Another one
        // may follow in the same record: BoringSSL sends two tickets in one. It may not stay
        // inside, where the next call would take it first, and nothing that it was given. What
        // follows in the next record is the caller's to pass.
        if (error == SSL_ERROR_WANT_READ && SSL_has_pending(ssl_.get()) == 1) continue;
        if (error == SSL_ERROR_ZERO_RETURN) {
            opened.event = Event::closed;
        } else if (error != SSL_ERROR_WANT_READ) {
            // The transport reports it, and ends this connection.
            if (take_tls_fault().no_memory) throw std::bad_alloc();
            opened.event = Event::failed;
        }
        break;
    }
    opened.used = in.size() - stream_.in.size();
    // It was given a whole record. If it takes nothing, it never will, and we would loop.
    if (opened.used == 0 && opened.event == Event::none) opened.event = Event::failed;
    return opened;
}

int SslRecords::seal(core::SendQueue& plain, Out out, std::size_t bytes_max, core::Kernel& kernel) {
    stream_ = {.in = {}, .out = &out.queue, .pool = &out.pool};
    // A pool's block is as large as a record's payload; it holds bytes of files and joined pieces.
    void* block = out.pool.take();
    int error = 0;
    bool has_memory = true;
    while (error == 0 && !plain.empty() && out.queue.bytes() < bytes_max) {
        const Piece piece =
            next_piece(plain, {static_cast<char*>(block), payload_bytes_max}, kernel);
        error = piece.error;
        if (error != 0) break;
        ERR_clear_error();
        std::size_t taken = 0;
        if (SSL_write_ex(ssl_.get(), piece.bytes.data(), piece.bytes.size(), &taken) != 1) {
            has_memory = !take_tls_fault().no_memory;
            error = -EPROTO;
        } else {
            plain.consume(taken);
        }
    }
    out.pool.give_back(block);
    if (!has_memory) throw std::bad_alloc();
    return error;
}

void SslRecords::seal_end(Out out) {
    stream_ = {.in = {}, .out = &out.queue, .pool = &out.pool};
    ERR_clear_error();
    // Once: it writes close_notify. A second call would wait for the peer's, which open() reports.
    SSL_shutdown(ssl_.get());
}

}  // namespace tiderace::tls

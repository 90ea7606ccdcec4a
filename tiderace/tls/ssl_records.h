// SslRecords: OpenSSL's SSL on views and queues: the handshake, and the records of those
// connections that stay with it (TLS 1.2, and our client side).
//
// Owner    A TlsTransport. An SSL's callbacks find it by SSL_get_app_data.
// Thread   The loop's.
// Memory   The SSL (measured with OpenSSL 3.0): 9 KiB when made, 40 to 75 during the handshake, 10
//          afterwards: no record buffer between two calls.
#pragma once

#include <optional>
#include <utility>

#include "tiderace/net/transport.h"
#include "tiderace/tls/encrypted_extensions.h"
#include "tiderace/tls/handshake_counters.h"
#include "tiderace/tls/records.h"
#include "tiderace/tls/stream_bio.h"
#include "tiderace/tls/traffic_secrets.h"

namespace tiderace::tls {

class SslRecords final : public Records {
  public:
    // An SSL that is set to accept or to connect.
    explicit SslRecords(SslPtr ssl);

    enum class Progress : std::uint8_t { wants_more, done, failed };
    struct Stepped {
        std::size_t used = 0;
        Progress progress = Progress::wants_more;
        HandshakeFailure why = HandshakeFailure::bad_message;  // if it failed
        std::string_view words = {};                           // of OpenSSL, for ever
    };
    Stepped handshake(ByteView in, Out out);

    Opened open(ByteView in, std::span<char> plain, Out out) override;
    int seal(core::SendQueue& plain, Out out, std::size_t bytes_max, core::Kernel& kernel) override;
    void seal_end(Out out) override;

    SSL* ssl() { return ssl_.get(); }
    // The terms of a finished handshake. Its protocol is a view of the SSL's.
    net::TransportSecurity security() const;
    // Whether the server requested a second hello (HelloRetryRequest) since the last call.
    bool take_retry() { return std::exchange(retries_, false); }
    // Whether to continue without the SSL: both secrets are there, and every agreed extension is
    // known to our record layer.
    bool can_be_left() const { return secrets_.complete() && agreement_.has_value(); }
    const TrafficSecrets& secrets() const { return secrets_; }
    const RecordAgreement& agreement() const { return *agreement_; }
    // For SSL_CTX_set_keylog_callback, on contexts whose connections may continue without an SSL.
    static void on_key_log(const SSL* ssl, const char* line);

  private:
    static void on_message(int written, int version, int type, const void* data, std::size_t bytes,
                           SSL* ssl, void* self);

    StreamBio stream_;
    TrafficSecrets secrets_;
    std::optional<RecordAgreement> agreement_;  // none: not seen, or not known
    std::uint64_t records_written_ = 0;
    bool retries_ = false;
    SslPtr ssl_;  // before what it uses, in destruction
};

}  // namespace tiderace::tls

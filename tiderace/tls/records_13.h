// Records13: the record layer of an established TLS 1.3 connection, server's side, without an SSL:
// only two keys remain of the handshake (RFC 8446, 5, 4.6.3 and 6).
//
// Takes application data, alerts and KeyUpdate, which may come in pieces, a record each, with
// nothing else between them. Updates its own key after records_per_key_max.
//
// Owner    A TlsTransport.
// Thread   The loop's.
// Errors   Damaged, too long, out of place: the right alert is in `out`, and Event::failed.
// Limits   As agreed in the handshake (encrypted_extensions.h), both ways. At most
//          empty_records_max records without payload in a row; KeyUpdates, their pieces and alerts
//          that end nothing count among them. Only the 5 bytes of a KeyUpdate are kept of a message
//          in pieces.
// Memory   About 2.5 KiB: two expanded keys.
// Keywords: TLS 1.3, AEAD, key update
#pragma once

#include <array>

#include "tiderace/tls/encrypted_extensions.h"
#include "tiderace/tls/record_cipher.h"
#include "tiderace/tls/records.h"

namespace tiderace::tls {

class Records13 final : public Records {
  public:
    static constexpr unsigned empty_records_max = 32;
    static constexpr std::size_t key_update_bytes = 5;

    Records13(const Suite13& suite, const TrafficSecrets& secrets,
              const RecordAgreement& agreed = {});

    Opened open(ByteView in, std::span<char> plain, Out out) override;
    int seal(core::SendQueue& plain, Out out, std::size_t bytes_max, core::Kernel& kernel) override;
    void seal_end(Out out) override;

  private:
    enum class Alert : std::uint8_t {
        close_notify = 0,
        unexpected_message = 10,
        bad_record_mac = 20,
        record_overflow = 22,
        illegal_parameter = 47,
        decode_error = 50,
        user_canceled = 90,
        none = 255
    };
    struct Inner;

    Alert open_one(ByteView record, std::span<char> to, Opened& opened);
    Alert take_inner(const Inner& inner, Opened& opened);
    Alert take_alert(ByteView alert, Opened& opened);
    Alert take_handshake(ByteView piece);
    void seal_small(ContentType type, ByteView payload, Out out);
    void seal_owed(Out out);
    std::size_t payload_in(std::span<char> room, std::uint64_t wanted) const;
    int seal_file(core::SendQueue& plain, Out out, core::Kernel& kernel);
    void seal_memory(core::SendQueue& plain, std::span<iovec> pieces, Out out);

    RecordCipher in_;
    RecordCipher out_;
    std::size_t fragment_bytes_max_;  // of a payload, either way
    unsigned empty_records_ = 0;
    std::array<char, key_update_bytes> message_{};  // the beginning of a KeyUpdate, and
    std::size_t message_bytes_ = 0;                 // how much of it has arrived
    bool update_owed_ = false;  // the peer requested a KeyUpdate: send it before our next payload
};

}  // namespace tiderace::tls

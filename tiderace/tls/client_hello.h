// ClientHelloScan: where a client's hello ends in its bytes, before anything is made for it.
//
//   16 3 1 len len | 01 len len len | …          records of clear text, a message in one or several
//   \-- a record     \-- the hello
//
// OpenSSL allocates its buffers at a hello's first byte, and room for all of the hello when it has
// read the length, which may be 128 KiB: a peer that sends nine bytes would take 155 KiB. So it is
// given a hello that is complete.
//
// HandshakeInput: what has arrived of a handshake, and how much of it OpenSSL may take.
//
// Owner    A TlsTransport, until its handshake is done.
// Thread   The loop's.
// Errors   Found::refused. Anything that is not a hello is left to OpenSSL, which knows its alert.
// Limits   hello_bytes_max: 16 KiB, as BoringSSL has it; a hello has 300 to 2,000.
// Memory   A scan has 16 bytes; the input, what waits.
// Keywords: SNI, ClientHello
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "tiderace/base/bytes.h"

namespace tiderace::tls {

class ClientHelloScan {
  public:
    static constexpr std::size_t hello_bytes_max = 16 * 1024;

    enum class Turn : std::uint8_t {
        first,
        after_retry,  // the second one, which records without a handshake's message may precede
    };
    enum class Found : std::uint8_t {
        part,     // all that was given may belong to it, and it goes on
        whole,    // its last byte is the last one that was used
        refused,  // above hello_bytes_max, or something else is behind it in its record
        other,    // no hello
    };
    struct Taken {
        Found found = Found::part;
        std::size_t used = 0;
    };

    explicit ClientHelloScan(Turn turn) : turn_(turn) {}

    // `bytes` follow the bytes of the calls before. No call follows one that did not return `part`.
    Taken take(ByteView bytes);

  private:
    Found begin_record();
    Found take_payload(ByteView payload);

    Turn turn_;
    bool is_skipped_ = false;  // this record
    std::uint8_t header_bytes_ = 0;
    std::uint8_t head_bytes_ = 0;            // of the message's
    std::array<unsigned char, 5> header_{};  // of the record
    std::array<unsigned char, 4> head_{};    // the message's type and length
    std::uint16_t record_bytes_left_ = 0;
    std::uint16_t message_bytes_left_ = 0;
};

// OpenSSL is given a hello when it is complete, and nothing behind it before it was answered: that
// may be a second one.
class HandshakeInput {
  public:
    enum class Due : std::uint8_t {
        nothing,  // more has to come
        step,     // with ready()
        refusal,  // of the hello
    };

    // Our peer is a server, which sends none.
    void expect_no_hello() { hello_.reset(); }

    Due add(ByteView bytes);
    // The bytes that the next step may take.
    ByteView ready() const { return bytes().substr(0, ready_bytes_); }
    // A step took so much of it. `retries`: it requested a second hello.
    Due take(std::size_t bytes, bool retries);
    // All that waits.
    ByteView bytes() const { return bytes_; }

  private:
    Due look();

    std::string bytes_;
    std::size_t ready_bytes_ = 0;
    // While a client's hello is awaited, or answered.
    std::optional<ClientHelloScan> hello_{ClientHelloScan::Turn::first};
    bool has_hello_ = false;  // it is ready
};

}  // namespace tiderace::tls

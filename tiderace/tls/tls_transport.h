// TlsTransport: TLS as a Transport over any other: TCP, a Unix socket, a test's pipe.
//
//   below --on_received--> whole records -> open, into the loop's buffer -> observer
//   observer --send--> seal, into blocks of the loop's pool -> below, one send a call
//
// The handshake's bytes wait for their step at the end of the turn (loop_parts.h). After a TLS 1.3
// handshake a server's SSL is gone: two keys go on alone (records_13.h).
//
//   handshake --done--> open --close_notify--> ended --+
//     |   |              |                             +--close()--> closed
//     |   |              +--a fault, a cut stream--> failed
//     |   +--a fault, handshake_timeout--------------> failed
//     +--clear text--> refusing --the peer's end, handshake_timeout--> failed
//
// Our direction is on its own: open -> end_announced -> finishing -> finished (Sending).
//
// Owner    A Connection. Its context outlives it.
// Thread   The loop's.
// Errors   To the observer, once: -EPROTO what is against the protocol and failed handshakes,
//          -ECONNRESET an end without close_notify (a cut stream is never an end in order),
//          -ETIMEDOUT a handshake that took too long, -ENOMEM where memory ran out, OpenSSL's or
//          ours: this connection ends, and no other. Others as they come from below.
// Limits   handshake_timeout, its own timer, from open() on; once more if the peer's bytes waited
//          for their step when it ended. waiting_bytes_max of a handshake's bytes that do.
//          out_bytes_max sealed and not yet taken below, then the observer waits.
// Memory   Idle: about 300 bytes, and its keys. Else a piece of a record, and what below left. In
//          its handshake an SSL with its buffers (ssl_records.h), until that has its end.
// Keywords: TLS, handshake, close_notify
#pragma once

#include <memory>
#include <string>

#include "tiderace/net/transport.h"
#include "tiderace/tls/client_hello.h"
#include "tiderace/tls/loop_parts.h"
#include "tiderace/tls/openssl.h"
#include "tiderace/tls/records.h"

namespace tiderace::tls {

class SslRecords;

// A TlsTransport's view of its context.
class Endpoint {
  public:
    virtual LoopParts& parts() = 0;
    // For a new connection; nullptr: out of memory.
    virtual SslPtr make_ssl() = 0;
    // The context's own copy of what ALPN chose.
    virtual std::string_view known_protocol(std::string_view chosen) const = 0;
    // In clear text, for a client that speaks plain HTTP; "" for nothing.
    virtual std::string_view plain_http_answer() const = 0;

  protected:
    ~Endpoint() = default;
};

class TlsTransport final : public net::Transport, private net::Transport::Observer, private Step {
  public:
    static constexpr std::size_t out_bytes_max = 128_KiB;
    static constexpr std::size_t waiting_bytes_max = 64_KiB;
    // Answers (alerts) that a peer causes and does not read; above this it is cut off.
    static constexpr std::size_t answers_bytes_max = 64_KiB;
    // Then others have their turn: sealing costs time that the socket would not limit.
    static constexpr std::size_t sealed_bytes_per_turn_max = 1_MiB;

    // A server's side; its SSL is made when a client's whole hello has come.
    TlsTransport(Endpoint& endpoint, std::unique_ptr<net::Transport> below);
    // A client's side: `ssl` begins the handshake.
    TlsTransport(Endpoint& endpoint, std::unique_ptr<net::Transport> below, SslPtr ssl);
    ~TlsTransport() override;

    void open(net::Transport::Observer& observer) TR_ON_LOOP override;
    void set_receiving(bool on) TR_ON_LOOP override;
    core::Sent send(core::SendQueue& queue) TR_ON_LOOP override;
    void finish() TR_ON_LOOP override;
    void say_end() TR_ON_LOOP override;
    void close(core::SendQueue&& unsent) TR_ON_LOOP override;
    void set_reset_on_close() TR_ON_LOOP override;
    bool tune(const net::SocketOptions& options) override { return below_->tune(options); }
    // With what the records around the bytes add.
    std::uint64_t unacknowledged_bytes() const override {
        return out_.bytes() + below_->unacknowledged_bytes();
    }
    std::uint64_t held_bytes() const override { return out_.copied_bytes() + below_->held_bytes(); }
    const net::TransportSecurity* security() const override {
        return records_ != nullptr ? &security_ : nullptr;
    }
    std::string_view failure() const override { return failure_; }

  private:
    class Handshake;
    class Presence;
    enum class Phase : std::uint8_t {
        handshake,
        refusing,  // the peer spoke in clear text: our answer leaves, and its end is awaited
        open,
        ended,   // the peer's direction, in order; ours may go on
        failed,  // reported to the observer
        closed,  // close() was called; nothing is reported any more
    };
    enum class Sending : std::uint8_t {
        open,
        end_announced,  // close_notify is in out_, or was sent
        finishing,      // below ends its direction when out_ is sent
        finished,
    };

    static bool may_follow(Phase from, Phase to);
    void enter(Phase next);
    void enter(Sending next);
    // Relies on the order of Phase, as may_follow() does.
    bool is_receiving_over() const { return phase_ >= Phase::ended; }

    template <typename Call>
    void within_memory(Call&& call) TR_ON_LOOP;
    void give_up() TR_ON_LOOP;
    void take_bytes(ByteView bytes) TR_ON_LOOP;
    void go_on_sending(std::int64_t result) TR_ON_LOOP;
    core::Sent send_records(core::SendQueue& queue) TR_ON_LOOP;

    void on_received(ByteView bytes) TR_ON_LOOP override;
    void on_receive_failed(int error) TR_ON_LOOP override;
    void on_sent(std::int64_t result) TR_ON_LOOP override;

    void take_step() TR_ON_LOOP override;  // goes on sending, after others had their turn
    void take_handshake_step() TR_ON_LOOP;
    void continue_handshake(HandshakeInput::Due due) TR_ON_LOOP;
    void refuse_with(std::string_view alert, HandshakeFailure why) TR_ON_LOOP;
    void refuse_first(ByteView bytes) TR_ON_LOOP;
    void refuse_clear_text() TR_ON_LOOP;
    void establish(std::unique_ptr<SslRecords> made) TR_ON_LOOP;
    void fail_handshake(HandshakeFailure why, std::string_view words, int error) TR_ON_LOOP;
    void receive_records(ByteView bytes) TR_ON_LOOP;
    Records::Event open_records(ByteView bytes, std::size_t& plain, bool& alive) TR_ON_LOOP;
    bool deliver(std::size_t bytes) TR_ON_LOOP;
    void end_receiving(Records::Event event) TR_ON_LOOP;
    void end_cut_off(int error) TR_ON_LOOP;
    void fail_receiving(int error) TR_ON_LOOP;
    bool wants_bytes() const;
    void update_receiving() TR_ON_LOOP;
    int send_below() TR_ON_LOOP;
    Out out() TR_ON_LOOP;

    Endpoint* endpoint_;
    std::unique_ptr<net::Transport> below_;
    net::Transport::Observer* observer_ = nullptr;
    // First the handshake, then the records; after a handshake that failed neither is there.
    std::unique_ptr<Handshake> handshake_;
    std::unique_ptr<Records> records_;
    std::unique_ptr<std::string> part_;  // of a record
    core::SendQueue out_;                // sealed, or the handshake's
    net::TransportSecurity security_;
    std::string_view failure_;  // of the handshake
    bool* gone_ = nullptr;      // of the innermost Presence; true: this is no more
    bool receiving_ = false;    // what the observer wants
    bool below_receiving_ = false;
    bool below_pending_ = false;
    bool room_wanted_ = false;  // the observer waits for on_sent
    Phase phase_ = Phase::handshake;
    Sending sending_ = Sending::open;
    // Once set, nothing is sealed any more: a peer could not read what stands behind a record that
    // was cut.
    int broken_ = 0;  // the -errno that ended sending
};

}  // namespace tiderace::tls

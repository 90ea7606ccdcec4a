// H2Connection: HTTP/2 on one connection (RFC 9113, RFC 9218, RFC 8441).
//
//   bytes -> wire::H2FrameReader -> streams -> Site -> Response -> HEADERS, and DATA in the order
//   of wire::H2Scheduler -> the connection's queue, one write for all that one receive brought
//
//   open --on_drain()--> going_away --its PING answered, drain_round--> last_round
//     |                      |                                            | no stream left
//     +----------------------+-- a fault, the peer's end, on_close -------+--------> closing
//
// The queue is filled only until H2Sender::is_full(): streams keep their bodies, so that an urgent
// answer does not wait behind earlier ones.
//
// Owner    Itself, from its making until on_close.
// Thread   The loop's.
// Errors   RFC 9113's: RST_STREAM for a stream's fault, GOAWAY and the end for the connection's.
// Limits   H2Options; and wire::H2Budget for everything that a peer can request without a use.
// Memory   Idle: this object, under 1 KiB, and HPACK's table with what the peer put there (4 KiB at
//          most).
// Keywords: GOAWAY, HTTP/2, h2c, SETTINGS, PING, rapid reset
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tiderace/http/h2/exchange.h"
#include "tiderace/http/h2/sender.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/http/h2/streams.h"
#include "tiderace/http/wire/h2/budget.h"
#include "tiderace/http/wire/h2/early_priorities.h"
#include "tiderace/http/wire/h2/frame_reader.h"
#include "tiderace/http/wire/h2/settings.h"
#include "tiderace/net/connection.h"

namespace tiderace::http {

class H2Connection final : public net::Session, private core::TurnEnd {
  public:
    H2Connection(H2Service& service, net::Connection& connection);

    net::Connection& connection() { return sender_.connection(); }
    H2Service& service() { return *service_; }

    // Called by its exchanges. ---------------------------------------------------------------

    H2Sender& sender() { return sender_; }
    // A DATA frame of so many bytes was put at the end of the queue.
    void sent_data(const H2Exchange& exchange, std::size_t bytes);
    // The exchange has something to send.
    void schedule(H2Exchange& exchange) TR_ON_LOOP;
    // The END_STREAM of its answer is in the queue.
    void answer_ended(H2Exchange& exchange) TR_ON_LOOP;
    // The caller has put something into the queue itself.
    void wrote() TR_ON_LOOP;
    // `bytes` of its body were used or dropped: the peer may send as many more.
    void give_back(H2Exchange& exchange, std::size_t bytes, bool to_stream = true) TR_ON_LOOP;

    // Called by its streams. -----------------------------------------------------------------

    H2Streams& streams() { return streams_; }
    bool is_closing() const { return phase_ == Phase::closing; }
    // Charges the peer's budget. False: it is spent, and the connection ends.
    bool charge(wire::H2Act act, std::uint32_t times = 1) TR_ON_LOOP;
    // GOAWAY, and the end.
    void fail(wire::H2Error error) TR_ON_LOOP;
    void give_back_window(std::size_t bytes) TR_ON_LOOP;  // the connection's
    void stream_settled() TR_ON_LOOP;
    void stream_watched() TR_ON_LOOP;  // streams().due() may be earlier now
    void last_stream_closed() TR_ON_LOOP;

  private:
    enum class Phase : std::uint8_t {
        open,
        going_away,  // GOAWAY was sent, the peer may not have it yet: new streams are served
        last_round,  // open streams are finished, new ones ignored
        closing,
    };
    enum class FillStep : std::uint8_t { go_on, stop };
    static constexpr wire::H2PingData drain_ping{'d', 'r', 'a', 'i', 'n', 'i', 'n', 'g'};

    std::size_t on_data(net::Connection& connection, ByteView data) TR_ON_LOOP override;
    void on_drained(net::Connection& connection) TR_ON_LOOP override;
    void on_peer_finished(net::Connection& connection) TR_ON_LOOP override;
    void on_deadline(net::Connection& connection) TR_ON_LOOP override;
    void on_drain(net::Connection& connection) TR_ON_LOOP override;
    bool on_source_shrank(net::Connection& connection) TR_ON_LOOP override;
    core::HeldBytes held_bytes() const override;
    bool is_idle() const override { return streams_.empty(); }
    void on_close(net::Connection& connection, net::CloseReason reason) TR_ON_LOOP override;
    void on_turn_end() TR_ON_LOOP override;

    struct Consumed {
        std::size_t used = 0;
        bool whole_frames = false;  // at least one ended
    };
    Consumed consume(ByteView data) TR_ON_LOOP;
    void watch_frame(bool is_new);
    void on_fault(const wire::H2Fault& fault) TR_ON_LOOP;
    void on_frame(const wire::H2Data& frame) TR_ON_LOOP;
    void on_frame(const wire::H2Headers& frame) TR_ON_LOOP;
    void on_frame(const wire::H2PriorityFrame& frame) TR_ON_LOOP;
    void on_frame(const wire::H2RstStream& frame) TR_ON_LOOP;
    void on_frame(const wire::H2SettingsFrame& frame) TR_ON_LOOP;
    void on_frame(const wire::H2Ping& frame) TR_ON_LOOP;
    void on_frame(const wire::H2Goaway& frame) TR_ON_LOOP;
    void on_frame(const wire::H2WindowUpdate& frame) TR_ON_LOOP;
    void on_frame(const wire::H2PriorityUpdate& frame) TR_ON_LOOP;
    void on_frame(const wire::H2UnknownFrame& frame) TR_ON_LOOP;

    void open_stream(const wire::H2Headers& frame) TR_ON_LOOP;
    void serve(H2Exchange& exchange, const wire::H2Headers& frame,
               const wire::H2RequestParse& parsed,
               std::optional<wire::H2Priority> early) TR_ON_LOOP;
    void take_trailers(H2Exchange& exchange, const wire::H2Headers& frame) TR_ON_LOOP;
    void pass_over(const wire::H2Headers& frame) TR_ON_LOOP;
    bool charge_insertions(std::uint64_t before) TR_ON_LOOP;
    void deliver(H2Exchange& exchange, const wire::H2Data& frame) TR_ON_LOOP;
    void enter(Phase next);
    void send_last_goaway() TR_ON_LOOP;
    void end_if_done() TR_ON_LOOP;
    void end(bool in_order) TR_ON_LOOP;
    void fill() TR_ON_LOOP;
    void drop_what_waits_for_windows() TR_ON_LOOP;
    FillStep fill_from(H2Exchange& exchange) TR_ON_LOOP;
    void begin_settings() TR_ON_LOOP;
    void watch_half_closed();
    void arm() TR_ON_LOOP;

    H2Service* service_;
    wire::H2FrameReader reader_;
    wire::HpackDecoder decoder_;
    H2Sender sender_;
    H2Streams streams_;
    wire::H2Settings peer_;
    wire::H2ReceiveWindow receive_window_;
    wire::H2Budget budget_;
    wire::H2EarlyPriorities early_priorities_;  // with the open streams at most streams_max
    Instant frame_due_;                         // a frame that began, or the first SETTINGS
    Instant drain_due_ = Instant::max();        // the answer to the drain's PING
    Instant half_closed_due_ = Instant::max();  // after the peer's end, an answer that we owe
    Instant idle_due_ = Instant::max();         // without streams
    Phase phase_ = Phase::open;
    bool consuming_ : 1 = false;  // on_data is on the stack: it fills the queue at its end
    bool fill_asked_ : 1 = false;
    bool closed_now_ : 1 = false;  // on_close came while a call at the end of the turn was due
    bool peer_finished_ : 1 = false;
    bool frames_wait_ : 1 = false;  // whole ones may be unread, because the queue is full
    // the peer has sent part of a frame, or not yet its first SETTINGS
    bool in_frame_ : 1 = true;
};

}  // namespace tiderace::http

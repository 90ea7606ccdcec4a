// H2Connection: HTTP/2 on one connection (RFC 9113, RFC 9218, RFC 8441).
//
//   bytes -> wire::H2FrameReader -> streams -> Site -> Response -> HEADERS, and DATA in the order
//   of wire::H2Scheduler -> the connection's queue, one write for all that one receive brought
//
// The queue is filled only to queue_bytes_wanted: streams keep their bodies, so that an urgent
// answer does not wait behind what was made before it.
//
// Owner    Itself, from its making until on_close.
// Thread   The loop's.
// Errors   RFC 9113's: RST_STREAM for a stream's fault, GOAWAY and the end for the connection's.
// Limits   H2Options; and wire::H2Budget for all that a peer can ask for without a use.
// Memory   Idle: this object, under 1 KiB, and HPACK's table with what the peer put there (4 KiB at
//          most).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "tiderace/http/h2_exchange.h"
#include "tiderace/http/h2_file_frames.h"
#include "tiderace/http/h2_service.h"
#include "tiderace/http/h2_stream_table.h"
#include "tiderace/http/wire/h2_budget.h"
#include "tiderace/http/wire/h2_closed_streams.h"
#include "tiderace/http/wire/h2_early_priorities.h"
#include "tiderace/http/wire/h2_frame_reader.h"
#include "tiderace/http/wire/h2_settings.h"
#include "tiderace/http/wire/hpack_encoder.h"
#include "tiderace/net/connection.h"

namespace tiderace::http {

class H2Connection final : public net::Session, private core::TurnEnd {
  public:
    // Beyond this, a scheduled stream waits for the queue to fall again.
    static constexpr std::uint64_t queue_bytes_wanted = 128_KiB;
    // A DATA frame with its header fills a TLS record.
    static constexpr std::uint32_t data_bytes_max = 16_KiB - wire::h2_frame_header_bytes;

    H2Connection(H2Service& service, net::Connection& connection);

    net::Connection& connection() { return *connection_; }

    // Told by its exchanges. ------------------------------------------------------------------

    wire::HpackEncoder& encoder() { return encoder_; }
    std::uint32_t frame_bytes_max() const;
    // Nobody waits, and the windows and the queue take `bytes` now.
    bool may_send_at_once(const H2Exchange& exchange, std::size_t bytes);
    wire::H2SendWindow& send_window() { return send_window_; }
    void sent_data(const H2Exchange& exchange, std::size_t bytes);
    // Appended to the queue by an exchange, in whole frames.
    void queued(std::uint64_t bytes) { queued_ += bytes; }
    // A DATA frame with so many bytes, some of them of a file, ends the queue.
    void queued_file(std::uint32_t stream, std::uint32_t bytes);
    // It has something to send.
    void schedule(H2Exchange& exchange) TR_ON_LOOP;
    // Its answer's END_STREAM is in the queue.
    void answer_ended(H2Exchange& exchange) TR_ON_LOOP;
    void write(ByteView frame) TR_ON_LOOP;
    // Something was put into the queue itself.
    void wrote() TR_ON_LOOP;
    // `bytes` of its body were used or dropped: the peer may send as many more.
    void give_back(H2Exchange& exchange, std::size_t bytes, bool to_stream = true) TR_ON_LOOP;
    void reset(H2Exchange& exchange, wire::H2Error error) TR_ON_LOOP;
    // Something happened outside of on_data: ends the stream if it is done.
    void settle(H2Exchange& exchange) TR_ON_LOOP;
    void step_done(core::Ref<H2Exchange> held) TR_ON_LOOP;
    void watch_body(H2Exchange& exchange) TR_ON_LOOP;
    // It keeps a copy of its head.
    void pinned(const H2Exchange& exchange) { heads_bytes_ += exchange.pinned_bytes(); }

  private:
    enum class Phase : std::uint8_t {
        open,
        going_away,  // GOAWAY was sent, the peer may not have it yet: new streams are served
        last_round,  // what is open is finished, new streams are passed over
        closing,
    };
    enum class FillStep : std::uint8_t { go_on, stop };
    // While it lives, the stream's end waits: a callback of it is on the stack.
    class Step {
      public:
        Step(H2Connection& connection, H2Exchange& exchange);
        ~Step() TR_ON_LOOP;
        Step(const Step&) = delete;
        Step& operator=(const Step&) = delete;

      private:
        H2Connection* connection_;
        core::Ref<H2Exchange> exchange_;
        bool outermost_;
    };
    using Transition = wire::H2Transition;
    static constexpr wire::H2PingData drain_ping{'d', 'r', 'a', 'i', 'n', 'i', 'n', 'g'};

    std::size_t on_data(net::Connection& connection, ByteView data) TR_ON_LOOP override;
    void on_drained(net::Connection& connection) TR_ON_LOOP override;
    void on_peer_finished(net::Connection& connection) TR_ON_LOOP override;
    void on_deadline(net::Connection& connection) TR_ON_LOOP override;
    void on_drain(net::Connection& connection) TR_ON_LOOP override;
    bool on_source_shrank(net::Connection& connection) TR_ON_LOOP override;
    std::uint64_t held_bytes() const override;
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
    void late_frame(std::uint32_t stream, wire::H2StreamEvent event) TR_ON_LOOP;
    // False: it was not allowed, and was dealt with.
    bool advance(H2Exchange& exchange, wire::H2StreamEvent event) TR_ON_LOOP;

    bool charge(wire::H2Act act, std::uint32_t times = 1) TR_ON_LOOP;
    void give_back_window(std::size_t bytes) TR_ON_LOOP;
    void window_update(std::uint32_t stream, std::uint32_t increment) TR_ON_LOOP;
    void refuse_stream(std::uint32_t stream, wire::H2Error error) TR_ON_LOOP;
    void write_reset(std::uint32_t stream, wire::H2Error error) TR_ON_LOOP;
    bool drop_queued_data(std::uint32_t stream) TR_ON_LOOP;
    void close_stream(H2Exchange& exchange) TR_ON_LOOP;
    void fail(wire::H2Error error) TR_ON_LOOP;
    void go_away(std::uint32_t last_stream, wire::H2Error error) TR_ON_LOOP;
    void say_last_stream() TR_ON_LOOP;
    void end_if_done() TR_ON_LOOP;
    void end(bool in_order) TR_ON_LOOP;
    void fill() TR_ON_LOOP;
    void drop_what_waits_for_windows() TR_ON_LOOP;
    FillStep fill_from(H2Exchange& exchange) TR_ON_LOOP;
    void begin_settings() TR_ON_LOOP;
    void watch_half_closed();
    void check_half_closed() TR_ON_LOOP;
    void arm() TR_ON_LOOP;
    void look_at(H2Exchange& exchange, Instant now, bool socket_behind) TR_ON_LOOP;
    void watch_answer(H2Exchange& exchange, Instant now, bool socket_behind);
    bool is_late(const H2Exchange& exchange) const;
    void body_is_late(H2Exchange& exchange) TR_ON_LOOP;
    void log_answer(const H2Exchange& exchange);

    H2Service* service_;
    net::Connection* connection_;
    wire::H2FrameReader reader_;
    wire::HpackDecoder decoder_;
    wire::HpackEncoder encoder_;
    wire::H2Settings peer_;
    wire::H2SendWindow send_window_;
    wire::H2ReceiveWindow receive_window_;
    wire::H2Budget budget_;
    H2StreamTable streams_;
    wire::H2Scheduler<H2Exchange> scheduler_;
    wire::H2ClosedStreams closed_;
    wire::H2EarlyPriorities early_priorities_;  // with the open streams at most streams_max
    Instant frame_due_;                         // a frame that began, or the first SETTINGS
    Instant drain_due_ = Instant::max();        // the answer to that PING
    Instant half_closed_due_ = Instant::max();  // after the peer's end, an answer that we owe
    Instant idle_due_ = Instant::max();         // without streams
    Instant streams_due_ = Instant::max();      // not later than the first of the streams' own
    std::size_t heads_bytes_ = 0;               // of the open streams, pinned
    std::uint64_t data_sent_ = 0;               // bytes, of all streams
    std::uint64_t queued_ = 0;                  // bytes, ever: where the queue ends
    std::unique_ptr<H2FileFrames> file_frames_;
    Phase phase_ = Phase::open;
    bool consuming_ : 1 = false;  // on_data is on the stack: it fills the queue at its end
    bool fill_asked_ : 1 = false;
    bool closed_now_ : 1 = false;  // on_close came while the end of the turn was asked for
    bool peer_finished_ : 1 = false;
    bool frames_wait_ : 1 = false;  // whole ones may be unread, for the queue is full
    bool in_frame_ : 1 = true;      // the peer owes the rest of one, or the first SETTINGS
};

}  // namespace tiderace::http

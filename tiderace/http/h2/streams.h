// H2Streams: the streams of one HTTP/2 connection: the open ones, their states and ends, and the
// deadlines of their bodies and answers.
//
//   insert -> a handler … DATA …      -> settle
//     answered and request complete:  close
//     answered first:                 the rest of the body is dropped, or the stream reset
//     answered later:                 schedule -> fill -> answer_ended -> settle
//
// settle() checks which parts are done and continues from there: at the end of each step of a
// stream, and right away for events outside of on_data.
//
// Owner    Its H2Connection, to which it reports faults, ends and earlier deadlines.
// Thread   The loop's.
// Errors   RFC 9113, 5.1: a frame that a stream's state does not allow ends the stream or the
//          connection.
// Limits   are_too_many(): H2Options' streams_max and heads_bytes_max.
// Keywords: RST_STREAM, concurrent streams, REFUSED_STREAM
#pragma once

#include <cstdint>
#include <vector>

#include "tiderace/http/h2/exchange.h"
#include "tiderace/http/h2/stream_table.h"
#include "tiderace/http/wire/h2/closed_streams.h"
#include "tiderace/http/wire/h2/stream.h"

namespace tiderace::http {

class H2Connection;
class H2Sender;
class H2Service;

class H2Streams {
  public:
    // While it exists, the stream's end waits: a callback of it is on the stack.
    class Step {
      public:
        Step(H2Streams& streams, H2Exchange& exchange);
        ~Step() TR_ON_LOOP;
        Step(const Step&) = delete;
        Step& operator=(const Step&) = delete;

      private:
        H2Streams* streams_;
        core::Ref<H2Exchange> exchange_;
        bool outermost_;
    };

    explicit H2Streams(H2Connection& connection) : connection_(&connection) {}

    // ---- the open streams -----------------------------------------------------------------------
    H2Exchange* find(std::uint32_t stream) const { return open_.find(stream); }
    std::size_t size() const { return open_.size(); }
    bool empty() const { return open_.empty(); }
    std::vector<core::Ref<H2Exchange>> all() const { return open_.all(); }
    bool are_too_many() const;
    void insert(core::Ref<H2Exchange> exchange);
    // An open stream keeps a copy of its head.
    void pinned(const H2Exchange& exchange) { heads_bytes_ += exchange.pinned_bytes(); }
    wire::H2ClosedStreams& closed() { return closed_; }
    // Copied bytes of answers that are in no frame yet, including tunnels.
    core::HeldBytes held_bytes() const;

    // ---- their states -----------------------------------------------------------------------
    // False: it was not allowed, and the error was handled.
    bool advance(H2Exchange& exchange, wire::H2StreamEvent event) TR_ON_LOOP;
    // A frame on a stream that is closed, or was never opened.
    void late_frame(std::uint32_t stream, wire::H2StreamEvent event) TR_ON_LOOP;

    // ---- their ends -------------------------------------------------------------------------
    void reset(H2Exchange& exchange, wire::H2Error error) TR_ON_LOOP;
    // For a stream without an exchange.
    void refuse(std::uint32_t stream, wire::H2Error error) TR_ON_LOOP;
    // An event outside of on_data: ends the stream if it is done.
    void settle(H2Exchange& exchange) TR_ON_LOOP;
    void close(H2Exchange& exchange) TR_ON_LOOP;
    void close_all() TR_ON_LOOP;
    // The peer sends no more, so bodies that are incomplete stay so.
    void reset_unfinished_requests() TR_ON_LOOP;
    // No WINDOW_UPDATEs will come, either.
    void reset_what_waits_for_windows() TR_ON_LOOP;

    // ---- their deadlines --------------------------------------------------------------------
    // A lower bound of the deadlines.
    Instant due() const { return due_; }
    // `socket_behind`: the peer does not have all sent bytes yet. Only its windows count here; the
    // connection has limits of its own for the socket.
    void look(Instant now, bool socket_behind) TR_ON_LOOP;
    void watch_body(H2Exchange& exchange) TR_ON_LOOP;
    void watch_answer(H2Exchange& exchange, Instant now, bool socket_behind);
    // After the peer's end: ends answers that wait for our handlers only.
    void check_half_closed() TR_ON_LOOP;

  private:
    using Transition = wire::H2Transition;

    void step_done(core::Ref<H2Exchange> held) TR_ON_LOOP;
    void write_reset(std::uint32_t stream, wire::H2Error error) TR_ON_LOOP;
    void look_at(H2Exchange& exchange, Instant now, bool socket_behind) TR_ON_LOOP;
    void watch_answer(H2Exchange& exchange, Instant now, Duration time, bool socket_behind);
    Duration time_bought(const H2Exchange& exchange) const;
    void body_is_late(H2Exchange& exchange) TR_ON_LOOP;
    void log_answer(const H2Exchange& exchange);

    H2Service& service() const;
    H2Sender& sender() const;

    H2Connection* connection_;
    H2StreamTable open_;
    wire::H2ClosedStreams closed_;
    Instant due_ = Instant::max();
    std::size_t heads_bytes_ = 0;  // of the open streams, pinned
};

}  // namespace tiderace::http

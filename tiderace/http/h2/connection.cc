#include "tiderace/http/h2/connection.h"

#include <algorithm>

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/h2/priority.h"

namespace tiderace::http {

using wire::H2Act;
using wire::H2Error;
using wire::H2StreamEvent;
using wire::H2StreamState;

namespace {

constexpr Duration drain_round = 1s;  // for a peer that does not answer the drain's PING

}  // namespace

H2Connection::H2Connection(H2Service& service, net::Connection& connection)
    : service_(&service),
      sender_(connection),
      streams_(*this),
      receive_window_(65'535),
      budget_(service.loop().now(), service.options().budget),
      frame_due_(moment_after(service.loop().now(), service.options().header_timeout)) {
    begin_settings();
    arm();
}

// The server's preface: SETTINGS has to be its first frame (RFC 9113, 3.4). Settings that are
// absent keep their defaults: 4 KiB for HPACK's table and 16 KiB for a frame, as the decoder and
// the reader expect.
void H2Connection::begin_settings() {
    const H2Options& options = service_->options();
    std::array<wire::H2Setting, 5> settings{
        {{wire::H2SettingId::max_concurrent_streams, options.streams_max},
         {wire::H2SettingId::initial_window_size, options.stream_window_bytes},
         {wire::H2SettingId::max_header_list_size,
          static_cast<std::uint32_t>(options.head.list_bytes_max)},
         {wire::H2SettingId::enable_connect_protocol, options.head.extended_connect ? 1U : 0U},
         {wire::H2SettingId::no_rfc7540_priorities, 1}}};
    std::array<char, wire::h2_frame_header_bytes + settings.size() * wire::h2_setting_bytes> frame;
    sender_.write({frame.data(), wire::write_h2_settings(frame, settings)});
    // SETTINGS sets the windows of streams only; the connection's grows by WINDOW_UPDATE (6.9.2).
    receive_window_.enlarge(options.window_bytes);
    sender_.window_update(0, receive_window_.announce());
}

// --- bytes and frames ------------------------------------------------------------------------

// While consuming_ is set, the calls below only note their effects. Filling the queue, arming the
// deadline and ending the connection follow once, so that all answers to one receive compete by
// priority and leave in one write.
std::size_t H2Connection::on_data(net::Connection&, ByteView data) {
    consuming_ = true;
    const Consumed consumed = consume(data);
    consuming_ = false;
    if (phase_ == Phase::closing) return data.size();
    // Before the deadlines are computed: an answer that ends here may close the last stream.
    fill();
    // A partial frame, a field block that goes on in CONTINUATION, and a preface without its
    // SETTINGS all hold the peer to frame_due_: without it, one byte a minute would keep the
    // connection open.
    in_frame_ = consumed.used < data.size() || reader_.in_field_block() || !reader_.settled();
    watch_frame(consumed.whole_frames);
    if (streams_.empty()) {
        // Counted from the last stream's end, so that PINGs alone do not keep an idle connection
        // open.
        if (idle_due_ == Instant::max()) {
            idle_due_ = moment_after(service_->loop().now(), service_->options().idle_timeout);
        }
        end_if_done();
    }
    if (phase_ != Phase::closing) arm();
    return consumed.used;
}

// A frame's deadline runs only while we wait for the peer. While the queue is too full for us to
// read on, the rest of the frame may be here already.
void H2Connection::watch_frame(bool is_new) {
    if (!in_frame_ || peer_finished_ || connection().has_backlog()) {
        frame_due_ = Instant::max();
    } else if (is_new || frame_due_ == Instant::max()) {
        frame_due_ = moment_after(service_->loop().now(), service_->options().header_timeout);
    }
}

H2Connection::Consumed H2Connection::consume(ByteView data) {
    Consumed consumed;
    while (consumed.used < data.size() && phase_ != Phase::closing && !connection().closing()) {
        // A peer that does not read gets no further work done: its frames wait until it does.
        frames_wait_ = connection().queue_bytes() > connection().limits().queue_bytes_high;
        if (frames_wait_) break;
        const wire::H2FrameReader::Step step = reader_.next(data.substr(consumed.used));
        consumed.used += step.used;
        if (step.status == wire::H2FrameReader::Status::need_more) break;
        consumed.whole_frames = true;
        if (step.status == wire::H2FrameReader::Status::fault) {
            on_fault(step.fault);
        } else {
            std::visit([this](const auto& frame) TR_ON_LOOP { on_frame(frame); }, step.frame);
        }
    }
    return consumed;
}

// --- sending ---------------------------------------------------------------------------------

// Inside on_data, fill() sends it at the end.
void H2Connection::wrote() {
    if (!consuming_ && phase_ != Phase::closing) connection().written();
}

// Fills the queue at the end of the turn rather than now: a handler's callback may be on the stack,
// and other streams may get ready in this turn with a higher priority.
void H2Connection::schedule(H2Exchange& exchange) {
    // The first output, or the first after a pause: the peer's time begins now, not when the
    // request came.
    if (exchange.write_due == Instant::max()) {
        streams_.watch_answer(exchange, service_->loop().now(),
                              connection().queue_bytes() > connection().limits().queue_bytes_low);
        stream_watched();
    }
    sender_.scheduler().add(exchange);
    if (consuming_ || fill_asked_) return;
    fill_asked_ = true;
    service_->loop().at_turn_end(*this);
}

// Refusals earn no credit, however large their pages are: a flood of bad requests would otherwise
// pay for itself.
void H2Connection::sent_data(const H2Exchange& exchange, std::size_t bytes) {
    sender_.queued_data(bytes);
    if (!exchange.was_refused()) budget_.transferred(bytes);
}

void H2Connection::answer_ended(H2Exchange& exchange) {
    if (!exchange.was_refused()) budget_.answered();
    streams_.advance(exchange, H2StreamEvent::sent_end);
    wrote();
    streams_.settle(exchange);
}

// The loop makes this call, not the net::Connection, so nothing above it contains an exception: the
// allocations of fill() may throw. If on_close came first, it left the object alive for the loop.
void H2Connection::on_turn_end() {
    fill_asked_ = false;
    if (closed_now_) {
        delete this;
    } else if (!core::contain(service_->loop().log(), "http", "a connection's answers",
                              [this]() TR_ON_LOOP { fill(); })) {
        connection().close(net::CloseReason::session_failed);
    }
}

void H2Connection::on_drained(net::Connection&) {
    fill();
    if (phase_ == Phase::closing) return;
    watch_frame(false);
    arm();
}

// Takes frames from the streams, in the scheduler's order, while the queue has room.
void H2Connection::fill() {
    if (phase_ == Phase::closing || connection().closing()) return;
    while (H2Exchange* next = sender_.scheduler().next()) {
        if (sender_.is_full()) {
            connection().want_drained();
            break;
        }
        // The connection's window is closed, for every stream.
        if (fill_from(*next) == FillStep::stop) break;
    }
    if (peer_finished_) drop_what_waits_for_windows();
    if (phase_ != Phase::closing) connection().written();
}

// The peer finished: no WINDOW_UPDATE will come, unless one waits to be read. (Part of a frame may
// also wait; it will never be whole.) Without this, such a stream would hold its memory until
// write_timeout.
void H2Connection::drop_what_waits_for_windows() {
    if (frames_wait_ && connection().has_unread()) return;
    streams_.reset_what_waits_for_windows();
    end_if_done();
}

H2Connection::FillStep H2Connection::fill_from(H2Exchange& exchange) {
    const H2Streams::Step step(streams_, exchange);
    switch (exchange.send_piece(connection().queue(), sender_.window())) {
        case H2Exchange::Piece::sent:
            sender_.scheduler().sent_piece(exchange);
            break;
        case H2Exchange::Piece::blocked:
            // It returns by schedule(): from WINDOW_UPDATE, SETTINGS, body_ready() or its tunnel.
            sender_.scheduler().remove(exchange);
            break;
        case H2Exchange::Piece::no_window:
            return FillStep::stop;
        case H2Exchange::Piece::ended:
            sender_.scheduler().remove(exchange);
            break;
        case H2Exchange::Piece::failed:
            streams_.reset(exchange, H2Error::internal_error);
            break;
    }
    return FillStep::go_on;
}

// --- files that become shorter ---------------------------------------------------------------

// Answered by the stream's end, not the connection's: the other streams are sound.
bool H2Connection::on_source_shrank(net::Connection&) {
    const auto mended = sender_.mend_short_file();
    if (!mended) return false;
    // The stream may have left the table while its frames waited in the queue. If its END_STREAM
    // was among them it is dropped now, so only a reset can end the stream for the peer. If the
    // queue holds its RST_STREAM already, none is added.
    if (!mended->window_fits) {
        fail(H2Error::flow_control_error);
    } else if (H2Exchange* exchange = streams_.find(mended->stream)) {
        streams_.reset(*exchange, H2Error::internal_error);
    } else if (!mended->was_reset) {
        streams_.refuse(mended->stream, H2Error::internal_error);
    }
    fill();
    return true;
}

// --- reports of the streams ------------------------------------------------------------------

void H2Connection::stream_settled() {
    if (!consuming_) end_if_done();
}

void H2Connection::stream_watched() {
    if (!consuming_) arm();
}

void H2Connection::last_stream_closed() {
    idle_due_ = moment_after(service_->loop().now(), service_->options().idle_timeout);
    if (!consuming_) arm();
}

// --- deadlines -------------------------------------------------------------------------------

// The one deadline of the net::Connection stands for all of ours, so each change computes the
// earliest anew. That is a few comparisons: streams_.due() is kept, not searched for.
void H2Connection::arm() {
    const Instant due = std::min({frame_due_, drain_due_, half_closed_due_, streams_.due(),
                                  streams_.empty() ? idle_due_ : Instant::max()});
    connection().set_deadline(due);
}

void H2Connection::on_deadline(net::Connection& connection) {
    const Instant now = service_->loop().now();
    // This peer does not answer PING. Requests that it sent before the first GOAWAY have had a
    // second to arrive.
    if (phase_ == Phase::going_away && drain_due_ <= now) send_last_goaway();
    if (half_closed_due_ <= now) {
        watch_half_closed();
        streams_.check_half_closed();
    }
    if (phase_ == Phase::closing) return;
    if (frame_due_ <= now) {
        ++service_->counters().timed_out;
        return fail(H2Error::no_error);
    }
    // GOAWAY with NO_ERROR lets the client retry safely a request that crosses it (RFC 9113, 6.8).
    if (streams_.empty() && idle_due_ <= now) {
        if (connection.queue_bytes() == 0) {
            sender_.go_away(streams_.closed().highest(), H2Error::no_error);
            return end(true);
        }
        idle_due_ =
            moment_after(now, service_->options().idle_timeout);  // its limits are the write ones
    }
    streams_.look(now, connection.queue_bytes() > 0);
    end_if_done();
    if (phase_ != Phase::closing) arm();
}

// A peer that ended its side may still read, or be gone: we cannot tell.
void H2Connection::watch_half_closed() {
    half_closed_due_ =
        moment_after(service_->loop().now(), service_->options().half_closed_timeout);
}

// --- the end of the connection ---------------------------------------------------------------

// Phases only go forward, in the order of the enum; each may be left out.
void H2Connection::enter(Phase next) {
    TR_CHECK(phase_ < next, "a phase that cannot follow");
    phase_ = next;
}

// GOAWAY names the last stream that we processed: the client knows that it may retry later ones
// (RFC 9113, 5.4.1).
void H2Connection::fail(H2Error error) {
    if (phase_ == Phase::closing) return;
    if (error != H2Error::no_error) ++service_->counters().faults;
    if (error == H2Error::enhance_your_calm) ++service_->counters().calmed;
    sender_.go_away(streams_.closed().highest(), error);
    end(false);
}

// In order: the peer has nothing left to send. Otherwise finish() reads on for a while: closing a
// socket with unread bytes resets it, which can destroy the GOAWAY on its way.
void H2Connection::end(bool in_order) {
    enter(Phase::closing);
    connection().set_deadline(Instant::max());
    in_order && !connection().has_unread() ? connection().close_when_sent() : connection().finish();
    streams_.close_all();
}

void H2Connection::end_if_done() {
    if (phase_ == Phase::closing || !streams_.empty()) return;
    if (phase_ == Phase::last_round || peer_finished_) end(peer_finished_);
}

void H2Connection::on_peer_finished(net::Connection&) {
    peer_finished_ = true;
    streams_.reset_unfinished_requests();
    // A partial frame will not be completed, so it is not waited for; only our answers are due.
    frame_due_ = Instant::max();
    watch_half_closed();
    fill();
    end_if_done();
    if (phase_ != Phase::closing) arm();
}

// Two steps (RFC 9113, 6.8): requests that the peer sent before it received the first GOAWAY are
// still served.
void H2Connection::on_drain(net::Connection&) {
    for (const core::Ref<H2Exchange>& exchange : streams_.all()) {
        if (net::Connection* tunnel = exchange->tunnel_connection()) tunnel->drain();
    }
    if (phase_ != Phase::open) return;
    enter(Phase::going_away);
    sender_.go_away(wire::h2_stream_max, H2Error::no_error);
    sender_.ping(drain_ping, false);
    drain_due_ = service_->loop().now() + drain_round;
    arm();
}

core::HeldBytes H2Connection::held_bytes() const {
    return streams_.held_bytes();
}

void H2Connection::send_last_goaway() {
    enter(Phase::last_round);
    drain_due_ = Instant::max();
    sender_.go_away(streams_.closed().highest(), H2Error::no_error);
}

void H2Connection::on_close(net::Connection&, net::CloseReason) {
    if (phase_ != Phase::closing) enter(Phase::closing);
    streams_.close_all();
    closed_now_ = true;
    if (!fill_asked_) delete this;
}

}  // namespace tiderace::http

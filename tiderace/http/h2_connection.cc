#include "tiderace/http/h2_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2_frame_writer.h"
#include "tiderace/http/wire/h2_priority.h"

namespace tiderace::http {

// The life of a stream:
//
//   open_stream -> serve (the site)  …DATA: deliver…  -> settle
//     answered and request complete:  close_stream
//     answered first:                 the rest of the body is dropped, or the stream reset
//     answered later:                 schedule -> fill -> answer_ended -> settle
//
// settle() looks at what is done and goes on from there: at the end of each step of a stream, and
// right away for what happens outside of on_data.

using wire::H2Act;
using wire::H2Error;
using wire::H2StreamEvent;
using wire::H2StreamState;

namespace {

constexpr Duration drain_round = 1s;  // for a peer that does not answer that PING

// What a peer must let pass in a period: one byte, if there is no rate.
std::uint64_t bytes_wanted(Duration period, std::uint64_t rate) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(period).count();
    return std::max<std::uint64_t>(1, rate * static_cast<std::uint64_t>(seconds));
}

// The header of the frame that the queue begins with. It is in memory, and may lie in two blocks.
wire::H2FrameHeader front_frame(const core::SendQueue& queue) {
    std::array<iovec, wire::h2_frame_header_bytes> pieces;
    const std::size_t count = queue.gather(pieces);
    std::array<char, wire::h2_frame_header_bytes> header{};
    std::size_t have = 0;
    for (std::size_t i = 0; i < count && have < header.size(); ++i) {
        const std::size_t part = std::min(pieces[i].iov_len, header.size() - have);
        std::memcpy(header.data() + have, pieces[i].iov_base, part);
        have += part;
    }
    TR_CHECK(have == header.size(), "the queue holds whole frames");
    return wire::read_h2_frame_header({header.data(), header.size()});
}

}  // namespace

H2Connection::H2Connection(H2Service& service, net::Connection& connection)
    : service_(&service),
      connection_(&connection),
      encoder_(0),
      receive_window_(65'535),
      budget_(service.loop().now(), service.options().budget),
      frame_due_(service.loop().now() + service.options().header_timeout) {
    begin_settings();
    arm();
}

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
    write({frame.data(), wire::write_h2_settings(frame, settings)});
    receive_window_.enlarge(options.window_bytes);
    if (const std::uint32_t more = receive_window_.announce(); more > 0) window_update(0, more);
}

std::uint32_t H2Connection::frame_bytes_max() const {
    return std::min<std::uint32_t>(peer_.max_frame_size, 16_KiB);
}

// --- bytes and frames ------------------------------------------------------------------------

std::size_t H2Connection::on_data(net::Connection&, ByteView data) {
    consuming_ = true;
    const Consumed consumed = consume(data);
    consuming_ = false;
    if (phase_ == Phase::closing) return data.size();
    fill();
    in_frame_ = consumed.used < data.size() || reader_.in_field_block() || !reader_.settled();
    watch_frame(consumed.whole_frames);
    if (streams_.empty()) {
        // Counted from the last stream's end: nobody holds an idle connection by PINGs.
        if (idle_due_ == Instant::max()) {
            idle_due_ = service_->loop().now() + service_->options().idle_timeout;
        }
        end_if_done();
    }
    if (phase_ != Phase::closing) arm();
    return consumed.used;
}

// A frame's deadline runs only while we wait for the peer. While the queue is too full for us to
// read on, the rest of the frame may be here already.
void H2Connection::watch_frame(bool is_new) {
    if (!in_frame_ || peer_finished_ || connection_->pushes_back()) {
        frame_due_ = Instant::max();
    } else if (is_new || frame_due_ == Instant::max()) {
        frame_due_ = service_->loop().now() + service_->options().header_timeout;
    }
}

H2Connection::Consumed H2Connection::consume(ByteView data) {
    Consumed consumed;
    frames_wait_ = false;
    while (consumed.used < data.size() && phase_ != Phase::closing && !connection_->closing()) {
        // A peer that does not read gets no more work done: what it sent waits with it.
        frames_wait_ = connection_->queue_bytes() > connection_->limits().queue_bytes_high;
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

// --- the ends of streams ---------------------------------------------------------------------

H2Connection::Step::Step(H2Connection& connection, H2Exchange& exchange)
    : connection_(&connection), exchange_(&exchange), outermost_(!exchange.stepping) {
    exchange.stepping = true;
}

H2Connection::Step::~Step() {
    if (!outermost_) return;
    exchange_->stepping = false;
    connection_->step_done(std::move(exchange_));
}

void H2Connection::reset(H2Exchange& exchange, H2Error error) {
    if (!exchange.attached() || phase_ == Phase::closing) return;
    exchange.state = H2StreamState::reset_by_us;
    write_reset(exchange.stream(), error);
    close_stream(exchange);
}

void H2Connection::write_reset(std::uint32_t stream, H2Error error) {
    ++service_->counters().resets_sent;
    std::array<char, wire::h2_rst_stream_bytes> frame;
    write({frame.data(), wire::write_h2_rst_stream(frame, stream, error)});
}

// Of a stream without an exchange.
void H2Connection::refuse_stream(std::uint32_t stream, H2Error error) {
    closed_.remember(stream, H2StreamState::reset_by_us);
    write_reset(stream, error);
}

void H2Connection::step_done(core::Ref<H2Exchange> held) {
    H2Exchange& exchange = *held;
    if (!exchange.attached()) return service_->give_back(std::move(held));
    held = {};  // the table has it, and the last one to hold it may give it back
    settle(exchange);
}

void H2Connection::settle(H2Exchange& exchange) {
    if (exchange.stepping || !exchange.attached()) return;
    if (exchange.state == H2StreamState::ended) {
        close_stream(exchange);
    } else if (exchange.state == H2StreamState::half_closed_local) {
        // RFC 9113, 8.1: a complete answer may tell the peer to keep the rest of its request.
        if (!exchange.may_drop_rest()) return reset(exchange, H2Error::no_error);
        watch_body(exchange);
    } else {
        return;
    }
    if (!consuming_) end_if_done();
}

void H2Connection::close_stream(H2Exchange& exchange) {
    log_answer(exchange);
    scheduler_.remove(exchange);
    core::Ref<H2Exchange> held = streams_.take(exchange.stream());
    const bool ended = held->state == H2StreamState::ended;
    const bool by_peer = held->state == H2StreamState::reset_by_peer;
    closed_.remember(held->stream(), ended || by_peer ? held->state : H2StreamState::reset_by_us);
    give_back_window(held->held_bytes());
    heads_bytes_ -= held->pinned_bytes();
    if (!held.only_owner()) held->outlive_connection();
    ended ? held->let_go() : held->detach();
    service_->give_back(std::move(held));
    if (streams_.empty()) {
        idle_due_ = service_->loop().now() + service_->options().idle_timeout;
        if (!consuming_) arm();
    }
}

void H2Connection::log_answer(const H2Exchange& exchange) {
    AccessLog* log = service_->site().log();
    if (log != nullptr && exchange.responded()) log->write(exchange.record());
}

// --- sending ---------------------------------------------------------------------------------

void H2Connection::write(ByteView frame) {
    if (phase_ == Phase::closing) return;
    queued_ += frame.size();
    connection_->write(frame);
}

void H2Connection::wrote() {
    if (!consuming_ && phase_ != Phase::closing) connection_->written();
}

void H2Connection::window_update(std::uint32_t stream, std::uint32_t increment) {
    std::array<char, wire::h2_window_update_bytes> frame;
    write({frame.data(), wire::write_h2_window_update(frame, stream, increment)});
}

bool H2Connection::may_send_at_once(const H2Exchange& exchange, std::size_t bytes) {
    return bytes <= data_bytes_max && bytes <= exchange.send_window.available() &&
           bytes <= send_window_.available() && scheduler_.empty() &&
           connection_->queue_bytes() <= connection_->limits().queue_bytes_high;
}

void H2Connection::schedule(H2Exchange& exchange) {
    if (exchange.write_due == Instant::max()) {
        watch_answer(exchange, service_->loop().now(),
                     connection_->queue_bytes() > connection_->limits().queue_bytes_low);
        streams_due_ = std::min(streams_due_, exchange.write_due);
        if (!consuming_) arm();
    }
    scheduler_.add(exchange);
    if (consuming_ || fill_asked_) return;
    fill_asked_ = true;
    service_->loop().at_turn_end(*this);
}

// A refusal is no use to anybody: what asking cost is not paid back, however large its page is.
void H2Connection::sent_data(const H2Exchange& exchange, std::size_t bytes) {
    data_sent_ += bytes;
    queued_ += wire::h2_frame_header_bytes + bytes;
    if (!exchange.was_refused()) budget_.transferred(bytes);
}

void H2Connection::answer_ended(H2Exchange& exchange) {
    exchange.write_due = Instant::max();
    if (!exchange.was_refused()) budget_.answered();
    advance(exchange, H2StreamEvent::sent_end);
    wrote();
    settle(exchange);
}

void H2Connection::on_turn_end() {
    fill_asked_ = false;
    if (closed_now_) {
        delete this;
    } else {
        fill();
    }
}

void H2Connection::on_drained(net::Connection&) {
    fill();
    if (phase_ == Phase::closing) return;
    watch_frame(false);
    arm();
}

// Takes frames from the streams, in their order, while the queue has room.
void H2Connection::fill() {
    if (phase_ == Phase::closing || connection_->closing()) return;
    while (H2Exchange* next = scheduler_.next()) {
        if (connection_->queue_bytes() >= queue_bytes_wanted) {
            connection_->want_drained();
            break;
        }
        if (fill_from(*next) == FillStep::stop) break;
    }
    if (peer_finished_) drop_what_waits_for_windows();
    if (phase_ != Phase::closing) connection_->written();
}

// The peer finished: no WINDOW_UPDATE comes any more, unless one waits to be read. (Part of a frame
// may wait, too: nothing comes of it.)
void H2Connection::drop_what_waits_for_windows() {
    if (frames_wait_ && connection_->has_unread()) return;
    for (const core::Ref<H2Exchange>& exchange : streams_.all()) {
        if (exchange->attached() && exchange->waits_for(send_window_)) {
            reset(*exchange, H2Error::cancel);
        }
    }
    end_if_done();
}

H2Connection::FillStep H2Connection::fill_from(H2Exchange& exchange) {
    const Step step(*this, exchange);
    switch (exchange.send_piece(connection_->queue(), send_window_)) {
        case H2Exchange::Piece::sent:
            scheduler_.sent_piece(exchange);
            break;
        case H2Exchange::Piece::blocked:
            scheduler_.remove(exchange);
            break;
        case H2Exchange::Piece::no_window:
            return FillStep::stop;
        case H2Exchange::Piece::ended:
            scheduler_.remove(exchange);
            break;
        case H2Exchange::Piece::failed:
            reset(exchange, H2Error::internal_error);
            break;
    }
    return FillStep::go_on;
}

// --- files that become shorter ---------------------------------------------------------------

void H2Connection::queued_file(std::uint32_t stream, std::uint32_t bytes) {
    if (file_frames_ == nullptr) file_frames_ = std::make_unique<H2FileFrames>();
    file_frames_->add({.end = queued_, .bytes = bytes, .stream = stream});
}

// The length of the frame under way is told already, so zeros make it whole. What follows of its
// stream is dropped, and RST_STREAM says that none of it is to be believed. No DATA with bytes of a
// file has END_STREAM (H2Exchange::send_piece), so the peer cannot have taken the stream for ended.
bool H2Connection::on_source_shrank(net::Connection& connection) {
    if (phase_ == Phase::closing || file_frames_ == nullptr) return false;
    core::SendQueue& queue = connection.queue();
    const std::uint64_t at = queued_ - queue.bytes();
    const H2FileFrames::Frame* found = file_frames_->find(at);
    if (found == nullptr) return false;
    const H2FileFrames::Frame frame = *found;
    const std::uint64_t missing = frame.end - at;
    core::SendQueue mended;
    static constexpr std::array<char, data_bytes_max> zeros{};
    mended.append_shared({zeros.data(), static_cast<std::size_t>(missing)}, {});
    queue.consume(missing);
    mended.append_queue(std::move(queue));
    queue = std::move(mended);
    const bool was_reset = drop_queued_data(frame.stream);
    if (H2Exchange* exchange = streams_.find(frame.stream)) {
        reset(*exchange, H2Error::internal_error);
    } else if (!was_reset) {
        refuse_stream(frame.stream, H2Error::internal_error);
    }
    fill();
    return true;
}

// From the queue, whose front is the rest of a frame. True: RST_STREAM is in it already.
bool H2Connection::drop_queued_data(std::uint32_t stream) {
    core::SendQueue& queue = connection_->queue();
    core::BlockPool& blocks = connection_->blocks();
    core::SendQueue kept;
    std::uint64_t at = queued_ - queue.bytes();
    std::uint64_t dropped = 0;
    std::uint32_t window = 0;
    bool was_reset = false;
    std::uint64_t rest = file_frames_->find(at)->end - at;  // of the frame in front, which stays
    while (true) {
        kept.append_front(blocks, queue, rest);
        at += rest;
        file_frames_->move(at, at - dropped);
        if (queue.empty()) break;
        const wire::H2FrameHeader header = front_frame(queue);
        rest = wire::h2_frame_header_bytes + header.length;
        if (header.stream != stream) continue;
        was_reset = was_reset || header.type == wire::H2FrameType::rst_stream;
        if (header.type != wire::H2FrameType::data) continue;
        queue.consume(rest);
        at += rest;
        file_frames_->move(at, 0);
        dropped += rest;
        window += header.length;
        rest = 0;
    }
    queue = std::move(kept);
    queued_ -= dropped;
    // It was never sent, so it is in no window.
    if (window > 0 && !send_window_.grow(window)) fail(H2Error::flow_control_error);
    return was_reset;
}

// --- deadlines -------------------------------------------------------------------------------

void H2Connection::arm() {
    const Instant due = std::min({frame_due_, drain_due_, half_closed_due_, streams_due_,
                                  streams_.empty() ? idle_due_ : Instant::max()});
    connection_->set_deadline(due);
}

void H2Connection::watch_body(H2Exchange& exchange) {
    if (exchange.body_arrived() || phase_ == Phase::closing) return;
    exchange.body_due = service_->loop().now() + service_->options().body_timeout;
    exchange.body_mark = exchange.body_bytes();
    streams_due_ = std::min(streams_due_, exchange.body_due);
    if (!consuming_) arm();
}

void H2Connection::on_deadline(net::Connection& connection) {
    const Instant now = service_->loop().now();
    if (drain_due_ <= now) say_last_stream();
    if (half_closed_due_ <= now) check_half_closed();
    if (phase_ == Phase::closing) return;
    if (frame_due_ <= now) {
        ++service_->counters().timed_out;
        return fail(H2Error::no_error);
    }
    if (streams_.empty() && idle_due_ <= now) {
        if (connection.queue_bytes() == 0) {
            go_away(closed_.highest(), H2Error::no_error);
            return end(true);
        }
        idle_due_ = now + service_->options().idle_timeout;  // its limits are the write ones
    }
    if (streams_due_ <= now) {
        streams_due_ = Instant::max();
        // Only the peer's windows count, and only once it can have all that we sent: for its
        // socket the connection has limits of its own.
        const bool socket_behind = connection.queue_bytes() > 0;
        for (const core::Ref<H2Exchange>& exchange : streams_.all()) {
            look_at(*exchange, now, socket_behind);
        }
    }
    end_if_done();
    if (phase_ != Phase::closing) arm();
}

void H2Connection::look_at(H2Exchange& exchange, Instant now, bool socket_behind) {
    if (!exchange.attached()) return;
    const H2Options& options = service_->options();
    if (exchange.body_due <= now) {
        const std::uint64_t came = exchange.body_bytes() - exchange.body_mark;
        exchange.body_due = Instant::max();
        if (exchange.body_flows() &&
            came < bytes_wanted(options.body_timeout, options.body_bytes_per_second_min)) {
            return body_is_late(exchange);
        }
        if (exchange.body_flows()) watch_body(exchange);
    }
    if (exchange.write_due <= now) {
        exchange.write_due = Instant::max();
        if (!socket_behind && !exchange.socket_was_behind && is_late(exchange)) {
            ++service_->counters().timed_out;
            return reset(exchange, H2Error::cancel);
        }
        if (exchange.has_output()) watch_answer(exchange, now, socket_behind);
    }
    streams_due_ = std::min({streams_due_, exchange.body_due, exchange.write_due});
}

// Nothing more comes. A peer that ended its side may read still, or be gone: it is the same to us.
void H2Connection::watch_half_closed() {
    half_closed_due_ = service_->loop().now() + service_->options().half_closed_timeout;
}

// While an answer makes progress, or waits for the peer's windows, it is served; what only we wait
// for has had its time.
void H2Connection::check_half_closed() {
    watch_half_closed();
    for (const core::Ref<H2Exchange>& exchange : streams_.all()) {
        if (!exchange->attached() || exchange->waits_to_be_sent()) continue;
        const bool progress = exchange->answer_bytes() != exchange->write_mark;
        exchange->write_mark = exchange->answer_bytes();
        if (exchange->responded() && (progress || !exchange->has_output())) continue;
        ++service_->counters().timed_out;
        const Step step(*this, *exchange);
        exchange->refuse(503, "The answer took too long.");
        if (!exchange->answer_complete()) reset(*exchange, H2Error::cancel);
    }
}

void H2Connection::watch_answer(H2Exchange& exchange, Instant now, bool socket_behind) {
    exchange.write_due = now + service_->options().write_timeout;
    exchange.write_mark = exchange.answer_bytes();
    exchange.connection_mark = data_sent_;
    exchange.window_was_closed = exchange.send_window.available() == 0;
    exchange.socket_was_behind = socket_behind;
}

// Whether the peer is what held the stream up since the last look:
//
//   its own window was closed then and is now:    late, if too little of it went meanwhile
//   the connection's window is closed:            late, if too little of all streams went meanwhile
//   otherwise it waited for other streams, which is our scheduler's doing
bool H2Connection::is_late(const H2Exchange& exchange) const {
    if (!exchange.waits_for(send_window_)) return false;
    const H2Options& options = service_->options();
    const std::uint64_t wanted =
        bytes_wanted(options.write_timeout, options.write_bytes_per_second_min);
    const bool own_window_closed = exchange.send_window.available() == 0;
    if (own_window_closed && exchange.window_was_closed) {
        return exchange.answer_bytes() - exchange.write_mark < wanted;
    }
    return data_sent_ - exchange.connection_mark < wanted;
}

void H2Connection::body_is_late(H2Exchange& exchange) {
    ++service_->counters().timed_out;
    const Step step(*this, exchange);
    const bool answer_began = exchange.responded();
    exchange.refuse(408, "The request did not arrive in time.");
    // Otherwise the 408 has its own deadline, and the stream ends with it.
    if (answer_began && !exchange.answer_complete()) reset(exchange, H2Error::cancel);
}

// --- the end of the connection ---------------------------------------------------------------

void H2Connection::go_away(std::uint32_t last_stream, H2Error error) {
    std::array<char, wire::h2_goaway_bytes> frame;
    write({frame.data(), wire::write_h2_goaway(frame, last_stream, error)});
}

void H2Connection::fail(H2Error error) {
    if (phase_ == Phase::closing) return;
    if (error != H2Error::no_error) ++service_->counters().faults;
    if (error == H2Error::enhance_your_calm) ++service_->counters().calmed;
    go_away(closed_.highest(), error);
    end(false);
}

// In order: there is nothing that the peer could still send us.
void H2Connection::end(bool in_order) {
    phase_ = Phase::closing;
    connection_->set_deadline(Instant::max());
    in_order && !connection_->has_unread() ? connection_->close_when_sent() : connection_->finish();
    for (const core::Ref<H2Exchange>& exchange : streams_.all()) close_stream(*exchange);
}

void H2Connection::end_if_done() {
    if (phase_ == Phase::closing || !streams_.empty()) return;
    if (phase_ == Phase::last_round || peer_finished_) end(peer_finished_);
}

void H2Connection::on_peer_finished(net::Connection&) {
    peer_finished_ = true;
    // Bodies that did not come whole never will.
    for (const core::Ref<H2Exchange>& exchange : streams_.all()) {
        if (!exchange->body_arrived() && exchange->attached()) reset(*exchange, H2Error::cancel);
    }
    frame_due_ = Instant::max();
    watch_half_closed();
    fill();
    end_if_done();
    if (phase_ != Phase::closing) arm();
}

// Two steps (RFC 9113, 6.8): what the peer sent before it heard the first is served still.
void H2Connection::on_drain(net::Connection&) {
    for (const core::Ref<H2Exchange>& exchange : streams_.all()) {
        if (net::Connection* tunnel = exchange->tunnel_connection()) tunnel->drain();
    }
    if (phase_ != Phase::open) return;
    phase_ = Phase::going_away;
    go_away(wire::h2_stream_max, H2Error::no_error);
    std::array<char, wire::h2_ping_bytes> ping;
    write({ping.data(), wire::write_h2_ping(ping, drain_ping, false)});
    drain_due_ = service_->loop().now() + drain_round;
    arm();
}

std::uint64_t H2Connection::held_bytes() const {
    std::uint64_t bytes = 0;
    for (const core::Ref<H2Exchange>& exchange : streams_.all()) {
        bytes += exchange->out().copied_bytes();
        const net::Connection* const tunnel = exchange->tunnel_connection();
        if (tunnel != nullptr) bytes += tunnel->held_bytes();
    }
    return bytes;
}

void H2Connection::say_last_stream() {
    phase_ = Phase::last_round;
    drain_due_ = Instant::max();
    go_away(closed_.highest(), H2Error::no_error);
    if (!consuming_) end_if_done();
}

void H2Connection::on_close(net::Connection&, net::CloseReason) {
    phase_ = Phase::closing;
    for (const core::Ref<H2Exchange>& exchange : streams_.all()) close_stream(*exchange);
    closed_now_ = true;
    if (!fill_asked_) delete this;
}

}  // namespace tiderace::http

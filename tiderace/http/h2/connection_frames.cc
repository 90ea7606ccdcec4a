// H2Connection: the effect of each frame. connection.cc has its life.
#include <algorithm>
#include <optional>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/h2/connection.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/h2/priority.h"

namespace tiderace::http {

using wire::H2Act;
using wire::H2Error;
using wire::H2StreamEvent;
using wire::H2StreamState;

void H2Connection::on_fault(const wire::H2Fault& fault) {
    if (fault.scope == wire::H2Fault::Scope::connection) return fail(fault.error);
    if (!charge(H2Act::fault)) return;
    if (H2Exchange* exchange = streams_.find(fault.stream))
        return streams_.reset(*exchange, fault.error);
    // A stream that was never opened cannot be reset (RFC 9113, 6.4).
    if (streams_.closed().state_of(fault.stream) == H2StreamState::idle) return fail(fault.error);
    streams_.refuse(fault.stream, fault.error);
}

// Each act costs the peer something of a budget, which useful traffic refills. Floods (rapid reset,
// CVE-2023-44487; CONTINUATION, PING, SETTINGS, empty frames) spend it and end the connection.
bool H2Connection::charge(H2Act act, std::uint32_t times) {
    if (times == 0) return true;  // most blocks have no continuation and insert nothing
    if (budget_.charge(act, service_->loop().now(), times)) return true;
    fail(H2Error::enhance_your_calm);
    return false;
}

// --- HEADERS ---------------------------------------------------------------------------------

// Which of three a HEADERS frame is follows from its stream's number: a new request, the trailers
// of an open stream, or late for a stream that has ended.
void H2Connection::on_frame(const wire::H2Headers& frame) {
    if (!charge(H2Act::continuation, frame.continuations)) return;  // usually of none
    if (H2Exchange* exchange = streams_.find(frame.stream)) return take_trailers(*exchange, frame);
    const H2StreamState state = streams_.closed().state_of(frame.stream);
    if (state == H2StreamState::idle) {
        // RFC 9113, 5.1.1: odd numbers, each higher than the last.
        if (!wire::may_open_h2_stream(frame.stream, streams_.closed().highest())) {
            return fail(H2Error::protocol_error);
        }
        return open_stream(frame);
    }
    // A stream that has ended: its HEADERS are late, not a new request.
    pass_over(frame);
    streams_.late_frame(frame.stream,
                        frame.end_stream ? H2StreamEvent::headers_end : H2StreamEvent::headers);
}

// Reads a field block only for HPACK's table, which has to stay the peer's (RFC 9113, 4.3).
void H2Connection::pass_over(const wire::H2Headers& frame) {
    if (phase_ == Phase::closing) return;
    const std::uint64_t before = decoder_.table().insertions();
    auto block = decoder_.read(frame.block, service_->arena(decoder_),
                               service_->options().head.list_bytes_max);
    while (block.next() == wire::HpackDecoder::Status::field) {
    }
    if (block.status() == wire::HpackDecoder::Status::corrupt) {
        return fail(H2Error::compression_error);
    }
    charge_insertions(before);
}

// Entries are cheap to send and cost us memory moves, so they are also charged.
bool H2Connection::charge_insertions(std::uint64_t before) {
    const auto count = static_cast<std::uint32_t>(decoder_.table().insertions() - before);
    return charge(H2Act::table_insertion, count);
}

void H2Connection::open_stream(const wire::H2Headers& frame) {
    streams_.closed().open(frame.stream);
    // Opened first: even a request that is refused uses up its number.
    const std::optional<wire::H2Priority> early = early_priorities_.take(frame.stream);
    if (!charge(H2Act::request)) return;
    // Streams above our last GOAWAY are ignored; the peer sends them again elsewhere (RFC 9113,
    // 6.8).
    if (phase_ == Phase::last_round) {
        streams_.closed().remember(frame.stream, H2StreamState::reset_by_us);
        return pass_over(frame);
    }
    // REFUSED_STREAM: the peer may retry, because nothing was processed (RFC 9113, 8.7).
    if (streams_.are_too_many()) {
        pass_over(frame);
        if (phase_ == Phase::closing || !charge(H2Act::request_refused)) return;
        ++service_->counters().refused;
        return streams_.refuse(frame.stream, H2Error::refused_stream);
    }
    // Parsed into an exchange, although the request may still be malformed: a good request, by far
    // the more frequent, is then never copied.
    core::Ref<H2Exchange> taken = service_->take_exchange();
    H2Exchange& exchange = *taken;
    const std::uint64_t before = decoder_.table().insertions();
    const wire::H2RequestParse parsed =
        exchange.parse(decoder_, frame.block, service_->arena(decoder_));
    if (parsed.status == wire::H2RequestParse::Status::compression_error) {
        return fail(H2Error::compression_error);
    }
    if (!charge_insertions(before)) return;
    // A length is announced, but no body follows (RFC 9113, 8.1.1). Passed on as HTTP/1, such a
    // request would make the next server wait for a body, and take the next request for it.
    const bool lacks_body = frame.end_stream && parsed.content_length.value_or(0) > 0;
    if (frame.depends_on_itself || lacks_body || parsed.malformed()) {
        service_->give_back(std::move(taken));
        // A malformed request is a stream error (RFC 9113, 8.1.1), so no handler and no log sees
        // it.
        ++service_->counters().refused;
        if (charge(H2Act::fault)) streams_.refuse(frame.stream, H2Error::protocol_error);
        return;
    }
    // The window as it is now: SETTINGS also change it for open streams.
    exchange.open(*this, frame.stream, peer_.initial_window_size);
    streams_.advance(exchange,
                     frame.end_stream ? H2StreamEvent::headers_end : H2StreamEvent::headers);
    streams_.insert(std::move(taken));
    serve(exchange, frame, parsed, early);
}

// The handler runs inside this call, and the answer may close the stream; `step` delays that to the
// end of the call.
void H2Connection::serve(H2Exchange& exchange, const wire::H2Headers& frame,
                         const wire::H2RequestParse& parsed,
                         std::optional<wire::H2Priority> early) {
    const H2Streams::Step step(streams_, exchange);
    const wire::Refusal refusal = exchange.begin(frame, parsed);
    // A PRIORITY_UPDATE frame wins over the field (RFC 9218, 7). Always set, because a reused
    // exchange still has its last stream's priority.
    const wire::Field* said = exchange.request().head->find(wire::FieldName::priority);
    sender_.scheduler().set_priority(
        exchange, early ? *early : wire::parse_h2_priority(said ? said->value : ByteView{}));
    ++service_->counters().requests;
    if (refusal != wire::Refusal::none) {
        ++service_->counters().refused;
        if (!charge(H2Act::request_refused)) return;
        exchange.refuse(refusal);
    } else {
        service_->site().serve(exchange);
        if (exchange.must_answer()) exchange.respond_status(500);
    }
    if (exchange.state == H2StreamState::ended) return;
    exchange.pin();  // it outlives the receive buffer
}

// A second block on an open stream: its trailers.
void H2Connection::take_trailers(H2Exchange& exchange, const wire::H2Headers& frame) {
    if (!charge(H2Act::trailers)) return;
    const std::uint64_t before = decoder_.table().insertions();
    wire::RequestHead& fields = service_->trailers();
    const wire::H2RequestParse parsed = wire::parse_h2_trailers(
        decoder_, frame.block, service_->arena(decoder_), service_->options().head, fields);
    if (parsed.status == wire::H2RequestParse::Status::compression_error) {
        return fail(H2Error::compression_error);
    }
    if (!charge_insertions(before)) return;
    const H2Streams::Step step(streams_, exchange);
    if (!streams_.advance(exchange,
                          frame.end_stream ? H2StreamEvent::headers_end : H2StreamEvent::headers)) {
        return;
    }
    // Trailers end the body, and hold no pseudo-fields (RFC 9113, 8.1).
    const bool bad = parsed.status == wire::H2RequestParse::Status::refused ||
                     frame.depends_on_itself || !frame.end_stream;
    if (!bad) exchange.take_trailers(fields.fields());
    if (bad || !exchange.take_body({}, true)) {
        if (charge(H2Act::fault)) streams_.reset(exchange, H2Error::protocol_error);
    }
}

// --- DATA ------------------------------------------------------------------------------------

void H2Connection::on_frame(const wire::H2Data& frame) {
    // Counted once for each frame, although its bytes may arrive in pieces.
    if (frame.frame_begins) {
        const bool empty = frame.flow_bytes == frame.padding_bytes && !frame.end_stream;
        if (!charge(empty ? H2Act::empty_data : H2Act::data)) return;
        if (!receive_window_.receive(frame.flow_bytes)) return fail(H2Error::flow_control_error);
        // Padding counts in the window (RFC 9113, 6.1) but is never delivered, so it is returned at
        // once.
        give_back_window(frame.padding_bytes);
    }
    if (H2Exchange* exchange = streams_.find(frame.stream)) return deliver(*exchange, frame);
    // The stream is closed: its bytes are dropped, but the connection's window needs them back.
    give_back_window(frame.bytes.size());
    if (!frame.frame_begins) return;  // the stream was reset in the middle of the frame
    streams_.late_frame(frame.stream,
                        frame.end_stream ? H2StreamEvent::data_end : H2StreamEvent::data);
}

// Every path returns the piece's bytes to the connection's window, now or when the handler has used
// them: bytes that were lost here would shrink that window for good, and with it every upload.
void H2Connection::deliver(H2Exchange& exchange, const wire::H2Data& frame) {
    const H2Streams::Step step(streams_, exchange);
    if (!streams_.advance(exchange,
                          frame.end_stream ? H2StreamEvent::data_end : H2StreamEvent::data)) {
        return give_back_window(frame.bytes.size());
    }
    // This stream's window; the connection's was counted by the caller.
    if (frame.frame_begins && !exchange.receive_window.receive(frame.flow_bytes)) {
        give_back_window(frame.bytes.size());
        return streams_.reset(exchange, H2Error::flow_control_error);
    }
    // Padding is never delivered, so it is returned here. An ended stream does not use its window.
    if (!frame.end_stream) {
        sender_.window_update(frame.stream, exchange.receive_window.give_back(frame.padding_bytes));
    }
    if (exchange.take_body(frame.bytes, frame.end_stream)) return;
    give_back_window(frame.bytes.size());
    if (charge(H2Act::fault)) streams_.reset(exchange, H2Error::protocol_error);
}

void H2Connection::give_back_window(std::size_t bytes) {
    sender_.window_update(0, receive_window_.give_back(static_cast<std::uint32_t>(bytes)));
}

// `to_stream` is false once the stream is closed, or when the peer is not to send more of it.
void H2Connection::give_back(H2Exchange& exchange, std::size_t bytes, bool to_stream) {
    // Bytes that a handler took are useful traffic: they refill the budget.
    budget_.transferred(bytes);
    give_back_window(bytes);
    if (!to_stream || exchange.body_arrived()) return;
    sender_.window_update(exchange.stream(),
                          exchange.receive_window.give_back(static_cast<std::uint32_t>(bytes)));
}

// --- the other frames ------------------------------------------------------------------------

void H2Connection::on_frame(const wire::H2PriorityFrame&) {
    // RFC 9113, 5.3.2: the old priorities are deprecated, so the frame has no effect.
    charge(H2Act::priority);
}

void H2Connection::on_frame(const wire::H2RstStream& frame) {
    ++service_->counters().resets_received;
    H2Exchange* exchange = streams_.find(frame.stream);
    if (exchange == nullptr) return streams_.late_frame(frame.stream, H2StreamEvent::rst_stream);
    // A reset of an unanswered request wasted our work: that is the rapid reset attack.
    if (!exchange->answer_complete() && !charge(H2Act::peer_reset)) return;
    if (streams_.advance(*exchange, H2StreamEvent::rst_stream)) streams_.close(*exchange);
}

void H2Connection::on_frame(const wire::H2SettingsFrame& frame) {
    if (!charge(frame.ack ? H2Act::ack : H2Act::settings) || frame.ack) return;
    const std::uint32_t old_window = peer_.initial_window_size;
    if (const H2Error error = peer_.apply(frame.entries); error != H2Error::no_error) {
        return fail(error);
    }
    // The values hold from our acknowledgement on (RFC 9113, 6.5.3), so they are applied before it.
    sender_.encoder().set_peer_table_bytes_max(peer_.header_table_size);
    sender_.acknowledge_settings();
    if (peer_.initial_window_size == old_window) return;
    // A new initial window moves the windows of open streams, which may become negative (RFC 9113,
    // 6.9.2).
    for (const core::Ref<H2Exchange>& exchange : streams_.all()) {
        if (!exchange->send_window.move(old_window, peer_.initial_window_size)) {
            return fail(H2Error::flow_control_error);
        }
        if (exchange->has_output()) schedule(*exchange);
    }
}

void H2Connection::on_frame(const wire::H2Ping& frame) {
    if (!charge(frame.ack ? H2Act::ack : H2Act::ping)) return;
    if (frame.ack) {
        // Everything that the peer sent before it saw our GOAWAY has arrived by now.
        if (phase_ == Phase::going_away && frame.data == drain_ping) send_last_goaway();
        return;
    }
    sender_.ping(frame.data, true);
}

// The peer will open no more streams. With an error it has also given up the connection.
void H2Connection::on_frame(const wire::H2Goaway& frame) {
    if (charge(H2Act::goaway) && frame.code != static_cast<std::uint32_t>(H2Error::no_error))
        end(false);
}

void H2Connection::on_frame(const wire::H2WindowUpdate& frame) {
    if (!charge(H2Act::window_update)) return;
    if (frame.stream == 0) {
        // No stream is scheduled here: streams that wait for this window have kept their place in
        // the scheduler, and on_data ends with fill().
        if (!sender_.window().grow(frame.increment)) fail(H2Error::flow_control_error);
        return;
    }
    H2Exchange* exchange = streams_.find(frame.stream);
    if (exchange == nullptr) return streams_.late_frame(frame.stream, H2StreamEvent::window_update);
    // Beyond 2^31-1 (RFC 9113, 6.9.1).
    if (!exchange->send_window.grow(frame.increment)) {
        if (charge(H2Act::fault)) streams_.reset(*exchange, H2Error::flow_control_error);
    } else if (exchange->has_output()) {
        schedule(*exchange);
    }
}

void H2Connection::on_frame(const wire::H2PriorityUpdate& frame) {
    if (!charge(H2Act::priority)) return;
    const wire::H2Priority priority = wire::parse_h2_priority(frame.value);
    if (H2Exchange* exchange = streams_.find(frame.prioritized_stream)) {
        return sender_.scheduler().set_priority(*exchange, priority);
    }
    // Too late: the stream is closed, or will not be opened.
    if (frame.prioritized_stream <= streams_.closed().highest() || phase_ == Phase::last_round)
        return;
    // Streams that are open or named may not be more than we let it open (RFC
    // 9218, 7.1).
    const std::size_t streams_max = service_->options().streams_max;
    const std::size_t room = streams_max - std::min(streams_.size(), streams_max);
    if (!early_priorities_.keep(frame.prioritized_stream, priority, room)) {
        fail(H2Error::protocol_error);
    }
}

void H2Connection::on_frame(const wire::H2UnknownFrame&) {
    charge(H2Act::unknown_frame);
}

}  // namespace tiderace::http

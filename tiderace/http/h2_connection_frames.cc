// H2Connection, what each frame does. h2_connection.cc has the rest.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/h2_connection.h"
#include "tiderace/http/wire/h2_frame_writer.h"
#include "tiderace/http/wire/h2_priority.h"

namespace tiderace::http {

using wire::H2Act;
using wire::H2Error;
using wire::H2StreamEvent;
using wire::H2StreamState;

void H2Connection::on_fault(const wire::H2Fault& fault) {
    if (fault.scope == wire::H2Fault::Scope::connection) return fail(fault.error);
    if (!charge(H2Act::fault)) return;
    if (H2Exchange* exchange = streams_.find(fault.stream)) return reset(*exchange, fault.error);
    // A stream that never was cannot be reset (RFC 9113, 6.4).
    if (closed_.state_of(fault.stream) == H2StreamState::idle) return fail(fault.error);
    refuse_stream(fault.stream, fault.error);
}

bool H2Connection::charge(H2Act act, std::uint32_t times) {
    if (budget_.charge(act, service_->loop().now(), times)) return true;
    fail(H2Error::enhance_your_calm);
    return false;
}

// --- HEADERS ---------------------------------------------------------------------------------

void H2Connection::on_frame(const wire::H2Headers& frame) {
    if (frame.continuations > 0 && !charge(H2Act::continuation, frame.continuations)) return;
    if (H2Exchange* exchange = streams_.find(frame.stream)) return take_trailers(*exchange, frame);
    const H2StreamState state = closed_.state_of(frame.stream);
    if (state == H2StreamState::idle) {
        if (!wire::may_open_h2_stream(frame.stream, closed_.highest())) {
            return fail(H2Error::protocol_error);
        }
        return open_stream(frame);
    }
    pass_over(frame);
    late_frame(frame.stream,
               frame.end_stream ? H2StreamEvent::headers_end : H2StreamEvent::headers);
}

// Reads a field block for the table's sake only.
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

bool H2Connection::charge_insertions(std::uint64_t before) {
    const auto count = static_cast<std::uint32_t>(decoder_.table().insertions() - before);
    return count == 0 || charge(H2Act::table_insertion, count);
}

void H2Connection::open_stream(const wire::H2Headers& frame) {
    closed_.open(frame.stream);
    const std::optional<wire::H2Priority> early = early_priorities_.take(frame.stream);
    if (!charge(H2Act::request)) return;
    if (phase_ == Phase::last_round) {
        closed_.remember(frame.stream, H2StreamState::reset_by_us);
        return pass_over(frame);
    }
    // A head of 32 KiB may come in a few bytes that name entries of the table.
    if (streams_.size() >= service_->options().streams_max ||
        heads_bytes_ >= service_->options().heads_bytes_max) {
        pass_over(frame);
        if (phase_ == Phase::closing || !charge(H2Act::request_refused)) return;
        ++service_->counters().refused;
        return refuse_stream(frame.stream, H2Error::refused_stream);
    }
    core::Ref<H2Exchange> taken = service_->take_exchange();
    H2Exchange& exchange = *taken;
    const std::uint64_t before = decoder_.table().insertions();
    const wire::H2RequestParse parsed =
        exchange.parse(decoder_, frame.block, service_->arena(decoder_));
    if (parsed.status == wire::H2RequestParse::Status::compression_error) {
        return fail(H2Error::compression_error);
    }
    if (!charge_insertions(before)) return;
    // A length is announced, and nothing comes (RFC 9113, 8.1.1): a handler that passes the request
    // on would have the next server wait for a body, and take the next request for it.
    const bool lacks_body = frame.end_stream && parsed.content_length.value_or(0) > 0;
    if (frame.depends_on_itself || lacks_body || parsed.malformed()) {
        service_->give_back(std::move(taken));
        ++service_->counters().refused;
        if (charge(H2Act::fault)) refuse_stream(frame.stream, H2Error::protocol_error);
        return;
    }
    exchange.open(*this, frame.stream, peer_.initial_window_size);
    advance(exchange, frame.end_stream ? H2StreamEvent::headers_end : H2StreamEvent::headers);
    streams_.insert(std::move(taken));
    serve(exchange, frame, parsed, early);
}

void H2Connection::serve(H2Exchange& exchange, const wire::H2Headers& frame,
                         const wire::H2RequestParse& parsed,
                         std::optional<wire::H2Priority> early) {
    const Step step(*this, exchange);
    const wire::Refusal refusal = exchange.begin(frame, parsed);
    // A frame says more than the field. The exchange may have been another stream's before.
    const wire::Field* said = exchange.request().head->find(wire::FieldName::priority);
    scheduler_.set_priority(
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
    const Step step(*this, exchange);
    if (!advance(exchange,
                 frame.end_stream ? H2StreamEvent::headers_end : H2StreamEvent::headers)) {
        return;
    }
    // Trailers end the body (RFC 9113, 8.1).
    const bool bad = parsed.status == wire::H2RequestParse::Status::refused ||
                     frame.depends_on_itself || !frame.end_stream;
    if (!bad) exchange.take_trailers(fields.fields());
    if (bad || !exchange.take_body({}, true)) {
        if (charge(H2Act::fault)) reset(exchange, H2Error::protocol_error);
    }
}

// --- DATA ------------------------------------------------------------------------------------

void H2Connection::on_frame(const wire::H2Data& frame) {
    if (frame.frame_begins) {
        const bool empty = frame.flow_bytes == frame.padding_bytes && !frame.end_stream;
        if (!charge(empty ? H2Act::empty_data : H2Act::data)) return;
        if (!receive_window_.receive(frame.flow_bytes)) return fail(H2Error::flow_control_error);
        give_back_window(frame.padding_bytes);
    }
    if (H2Exchange* exchange = streams_.find(frame.stream)) return deliver(*exchange, frame);
    give_back_window(frame.bytes.size());
    if (!frame.frame_begins) return;  // the stream was reset in the middle of the frame
    late_frame(frame.stream, frame.end_stream ? H2StreamEvent::data_end : H2StreamEvent::data);
}

void H2Connection::deliver(H2Exchange& exchange, const wire::H2Data& frame) {
    const Step step(*this, exchange);
    if (!advance(exchange, frame.end_stream ? H2StreamEvent::data_end : H2StreamEvent::data)) {
        return give_back_window(frame.bytes.size());
    }
    if (frame.frame_begins && !exchange.receive_window.receive(frame.flow_bytes)) {
        give_back_window(frame.bytes.size());
        return reset(exchange, H2Error::flow_control_error);
    }
    if (frame.padding_bytes > 0 && !frame.end_stream) {
        if (const auto more = exchange.receive_window.give_back(frame.padding_bytes); more > 0) {
            window_update(frame.stream, more);
        }
    }
    if (exchange.take_body(frame.bytes, frame.end_stream)) return;
    give_back_window(frame.bytes.size());
    if (charge(H2Act::fault)) reset(exchange, H2Error::protocol_error);
}

void H2Connection::give_back_window(std::size_t bytes) {
    if (bytes == 0 || phase_ == Phase::closing) return;
    const std::uint32_t more = receive_window_.give_back(static_cast<std::uint32_t>(bytes));
    if (more > 0) window_update(0, more);
}

void H2Connection::give_back(H2Exchange& exchange, std::size_t bytes, bool to_stream) {
    if (bytes == 0 || phase_ == Phase::closing) return;
    budget_.transferred(bytes);
    give_back_window(bytes);
    if (!to_stream || exchange.body_arrived()) return;
    const std::uint32_t more = exchange.receive_window.give_back(static_cast<std::uint32_t>(bytes));
    if (more > 0) window_update(exchange.stream(), more);
}

// --- the other frames ------------------------------------------------------------------------

void H2Connection::on_frame(const wire::H2PriorityFrame&) {
    charge(H2Act::priority);
}

void H2Connection::on_frame(const wire::H2RstStream& frame) {
    ++service_->counters().resets_received;
    H2Exchange* exchange = streams_.find(frame.stream);
    if (exchange == nullptr) return late_frame(frame.stream, H2StreamEvent::rst_stream);
    if (!exchange->answer_complete() && !charge(H2Act::peer_reset)) return;
    if (advance(*exchange, H2StreamEvent::rst_stream)) close_stream(*exchange);
}

void H2Connection::on_frame(const wire::H2SettingsFrame& frame) {
    if (!charge(frame.ack ? H2Act::ack : H2Act::settings) || frame.ack) return;
    const std::uint32_t old_window = peer_.initial_window_size;
    if (const H2Error error = peer_.apply(frame.entries); error != H2Error::no_error) {
        return fail(error);
    }
    encoder_.set_peer_table_bytes_max(peer_.header_table_size);
    std::array<char, wire::h2_settings_ack_bytes> ack;
    write({ack.data(), wire::write_h2_settings_ack(ack)});
    if (peer_.initial_window_size == old_window) return;
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
        if (phase_ == Phase::going_away && frame.data == drain_ping) say_last_stream();
        return;
    }
    std::array<char, wire::h2_ping_bytes> ack;
    write({ack.data(), wire::write_h2_ping(ack, frame.data, true)});
}

// It opens no more streams, and reads what is open, unless it gave up the connection.
void H2Connection::on_frame(const wire::H2Goaway& frame) {
    if (charge(H2Act::goaway) && frame.code != static_cast<std::uint32_t>(H2Error::no_error))
        end(false);
}

void H2Connection::on_frame(const wire::H2WindowUpdate& frame) {
    if (!charge(H2Act::window_update)) return;
    if (frame.stream == 0) {
        if (!send_window_.grow(frame.increment)) fail(H2Error::flow_control_error);
        return;
    }
    H2Exchange* exchange = streams_.find(frame.stream);
    if (exchange == nullptr) return late_frame(frame.stream, H2StreamEvent::window_update);
    if (!exchange->send_window.grow(frame.increment)) {
        if (charge(H2Act::fault)) reset(*exchange, H2Error::flow_control_error);
    } else if (exchange->has_output()) {
        schedule(*exchange);
    }
}

void H2Connection::on_frame(const wire::H2PriorityUpdate& frame) {
    if (!charge(H2Act::priority)) return;
    const wire::H2Priority priority = wire::parse_h2_priority(frame.value);
    if (H2Exchange* exchange = streams_.find(frame.prioritized_stream)) {
        return scheduler_.set_priority(*exchange, priority);
    }
    if (frame.prioritized_stream <= closed_.highest() || phase_ == Phase::last_round) return;
    // Those that are open and those that are spoken of may not be more than we let it open (RFC
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

// --- the states of streams -------------------------------------------------------------------

bool H2Connection::advance(H2Exchange& exchange, H2StreamEvent event) {
    const Transition transition = wire::h2_transition(exchange.state, event);
    switch (transition.verdict) {
        case Transition::Verdict::ok:
            exchange.state = transition.next;
            return true;
        case Transition::Verdict::ignore:
            return false;
        case Transition::Verdict::stream_error:
            if (charge(H2Act::fault)) reset(exchange, transition.error);
            return false;
        case Transition::Verdict::connection_error:
            fail(transition.error);
            return false;
        case Transition::Verdict::misuse:
            break;
    }
    TR_CHECK(false, "a frame that this stream's state does not allow us");
    return false;
}

// A frame on a stream that is closed, or never was.
void H2Connection::late_frame(std::uint32_t stream, H2StreamEvent event) {
    if (phase_ == Phase::closing || !charge(H2Act::late_frame)) return;
    const Transition transition = wire::h2_transition(closed_.state_of(stream), event);
    if (transition.verdict == Transition::Verdict::stream_error) {
        if (charge(H2Act::fault)) refuse_stream(stream, transition.error);
    } else if (transition.verdict == Transition::Verdict::connection_error) {
        fail(transition.error);
    }
}

}  // namespace tiderace::http

// ClientH2: the effect of each frame. client_h2.cc has its life.
#include <array>
#include <utility>
#include <variant>

#include "tiderace/http/client/client_connection.h"
#include "tiderace/http/client/client_h2.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/status.h"

namespace tiderace::http {

using wire::H2Act;
using wire::H2Error;
using wire::H2StreamState;

std::size_t ClientH2::on_data(ByteView data) {
    using Status = wire::H2FrameReader::Status;
    ++heard_;
    if (ping_due_ != Instant::max()) {  // it is there
        ping_due_ = Instant::max();
        arm();
        connection_->ready();
    }
    std::size_t used = 0;
    // A frame may end the connection (fail()), and what follows it in this piece is then of no use.
    while (!over_) {
        const auto step = reader_.next(data.substr(used));
        used += step.used;
        if (step.status == Status::need_more) return used;
        if (step.status == Status::fault) {
            on_fault(step.fault);
        } else {
            std::visit([this](const auto& frame) { on_frame(frame); }, step.frame);
        }
    }
    return data.size();
}

void ClientH2::on_fault(const wire::H2Fault& fault) {
    if (fault.scope == wire::H2Fault::Scope::connection) return fail(fault.error);
    if (Stream* const stream = find(fault.stream)) {
        return fail_stream(*stream, fault.error, "a frame that HTTP/2 does not allow");
    }
    take_late(fault.stream, H2Act::fault, false);
}

// A frame of a stream that is over. False: the connection is, too.
bool ClientH2::take_late(std::uint32_t stream, H2Act act, bool carries_content) {
    const H2StreamState state = closed_.state_of(stream);
    if (state == H2StreamState::idle || state == H2StreamState::passed_over) {
        // A number that we have not used yet: RFC 9113, 5.1, "idle".
        fail(H2Error::protocol_error);
    } else if (carries_content &&
               (state == H2StreamState::ended || state == H2StreamState::reset_by_peer)) {
        // The server ended the stream itself, and sends on (RFC 9113, 5.1, "closed"). After a reset
        // of ours it may not know yet, so those frames are only counted.
        fail(H2Error::stream_closed);
    } else {
        return charge(act);
    }
    return false;
}

// --- HEADERS ---------------------------------------------------------------------------------

void ClientH2::on_frame(const wire::H2Headers& frame) {
    if (!charge(H2Act::continuation, frame.continuations)) return;
    Stream* const stream = find(frame.stream);
    const bool trailers = stream != nullptr && stream->has_head_;
    const std::uint64_t insertions = decoder_.table().insertions();
    Headers fields;
    // Always: the table has to stay the server's (RFC 9113, 4.3).
    const wire::H2ResponseParse parse = wire::parse_h2_response(
        decoder_, frame.block,
        connection_->all().arena(decoder_.arena_bytes(head_limits.list_bytes_max)), head_limits,
        trailers ? wire::H2ResponsePart::trailers : wire::H2ResponsePart::head,
        [&](ByteView name, ByteView value) {
            if (stream != nullptr) fields.add(name, value);
        });
    using Status = wire::H2ResponseParse::Status;
    // Both tables differ from here on, so no later head could be trusted (RFC 9113, 4.3).
    if (parse.status == Status::compression_error) return fail(H2Error::compression_error);
    const auto inserted = static_cast<std::uint32_t>(decoder_.table().insertions() - insertions);
    // Insertions into the table cost us memory moves, and may be repeated for ever in few bytes.
    if (!charge(H2Act::table_insertion, inserted)) return;
    if (stream == nullptr) {
        take_late(frame.stream, H2Act::late_frame, true);
        return;
    }
    stream->touched_ = true;
    if (stream->answer_ended_) {
        return fail_stream(*stream, H2Error::stream_closed, "a head behind the answer");
    }
    if (parse.status == Status::too_large) {
        return fail_stream(*stream, H2Error::cancel, "the head is too large");
    }
    if (parse.status == Status::malformed || frame.depends_on_itself ||
        (trailers && !frame.end_stream)) {
        return fail_stream(*stream, H2Error::protocol_error, "the head is malformed");
    }
    if (!trailers) return take_head(*stream, parse, std::move(fields), frame.end_stream);
    if (!stream->without_body_ && !stream->length_.complete()) {
        return fail_stream(*stream, H2Error::protocol_error, "the body is shorter than its length");
    }
    stream->exchange_->trailers() = std::move(fields);
    stream->answer_ended_ = true;
    stream->exchange_->on_answer_end();
    finish_if_done(*stream);
}

void ClientH2::take_head(Stream& stream, const wire::H2ResponseParse& parse, Headers fields,
                         bool end_stream) {
    if (parse.interim()) {
        // A final answer must follow a 1xx (RFC 9113, 8.1), which may come again and again.
        if (end_stream || ++stream.interim_ > interim_max) {
            fail_stream(stream, H2Error::protocol_error,
                        stream.interim_ > interim_max ? "too many 1xx" : "a 1xx that may not be");
        }
        return;
    }
    stream.has_head_ = true;
    stream.without_body_ = stream.exchange_->to_head() || wire::has_no_body(parse.code);
    stream.length_ = wire::H2BodyLength(parse.content_length);
    if (end_stream && !stream.without_body_ && !stream.length_.complete()) {
        return fail_stream(stream, H2Error::protocol_error, "the body is shorter than its length");
    }
    if (!end_stream && !stream.without_body_ &&
        parse.content_length.value_or(Stream::window_bytes) > Stream::first_window_bytes) {
        widen(stream);
    }
    stream.exchange_->fields() = std::move(fields);
    stream.exchange_->on_head(HttpVersion::http_2, parse.code);
    if (!end_stream) return;
    stream.answer_ended_ = true;
    stream.exchange_->on_answer_end();
    finish_if_done(stream);
}

// A long answer, while there is room for it: a wider window.
void ClientH2::widen(Stream& stream) {
    if (!stream.exchange_->share().grow_to(Stream::window_bytes)) return;
    stream.receive_.enlarge(Stream::window_bytes);
    update_window(stream.id_, stream.receive_.announce());
}

// --- DATA ------------------------------------------------------------------------------------

void ClientH2::on_frame(const wire::H2Data& frame) {
    Stream* const stream = find(frame.stream);
    if (frame.frame_begins) {
        // Padding and bytes of streams that are over count too (RFC 9113, 6.1 and 5.1), or the two
        // ends' windows would differ.
        if (!receive_.receive(frame.flow_bytes)) return fail(H2Error::flow_control_error);
        const bool empty = frame.flow_bytes == frame.padding_bytes && !frame.end_stream;
        if (empty && !charge(H2Act::empty_data)) return;
        if (stream == nullptr && !take_late(frame.stream, H2Act::data, true)) return;
    }
    // At once: what a reader leaves unread is its stream's concern.
    const auto bytes = static_cast<std::uint32_t>(frame.bytes.size());
    update_window(0, receive_.give_back(bytes + frame.padding_bytes));
    if (stream != nullptr) take_data(*stream, frame);
}

void ClientH2::take_data(Stream& stream, const wire::H2Data& frame) {
    stream.touched_ = true;
    if (stream.answer_ended_) {
        return fail_stream(stream, H2Error::stream_closed, "bytes behind the answer");
    }
    if (frame.frame_begins && !stream.receive_.receive(frame.flow_bytes)) {
        return fail_stream(stream, H2Error::flow_control_error, "more bytes than it was let send");
    }
    if (!stream.has_head_ || (stream.without_body_ && !frame.bytes.empty())) {
        return fail_stream(stream, H2Error::protocol_error, "a body where none may be");
    }
    if (!stream.length_.add(frame.bytes.size()) ||
        (frame.end_stream && !stream.without_body_ && !stream.length_.complete())) {
        return fail_stream(stream, H2Error::protocol_error,
                           "the body is not as long as its length");
    }
    // No reader takes padding, so its part of the window is given back here.
    if (frame.padding_bytes > 0 && !frame.end_stream) {
        update_window(stream.id_, stream.receive_.give_back(frame.padding_bytes));
    }
    budget_.transferred(frame.bytes.size());
    if (!frame.bytes.empty()) stream.exchange_->on_data(frame.bytes);
    if (!frame.end_stream) return;
    stream.answer_ended_ = true;
    stream.exchange_->on_answer_end();
    finish_if_done(stream);
}

// --- the other frames ------------------------------------------------------------------------

void ClientH2::on_frame(const wire::H2RstStream& frame) {
    Stream* const stream = find(frame.stream);
    if (stream == nullptr) {
        take_late(frame.stream, H2Act::late_frame, false);
        return;
    }
    const auto error = static_cast<H2Error>(frame.code);
    // The whole answer came, and the rest of the request is not wanted (RFC 9113, 8.1).
    if (stream->answer_ended_ && error == H2Error::no_error) {
        budget_.answered();
        close(*stream, H2StreamState::reset_by_peer).on_end();
        return after_close();
    }
    Progress progress = stream->touched_ ? Progress::touched : Progress::untouched;
    // Believed only without a byte of an answer: a server that answered has processed (RFC 9113,
    // 8.7).
    if (!stream->touched_ && error == H2Error::refused_stream) progress = Progress::unprocessed;
    if (!stream->touched_ && error == H2Error::http_1_1_required) {
        progress = Progress::http_1_1_required;
    }
    std::string why = "the server reset the stream (";
    why.append(to_string(error)) += ')';
    fail_exchange(*stream, H2StreamState::reset_by_peer, why, progress);
    after_close();
}

void ClientH2::on_frame(const wire::H2SettingsFrame& frame) {
    if (!charge(frame.ack ? H2Act::ack : H2Act::settings) || frame.ack) return;
    const std::uint32_t old_window = peer_.initial_window_size;
    peer_.enable_push = false;
    // Cleared, so that a 1 in these entries is noticed: only a client may send it.
    if (const H2Error error = peer_.apply(frame.entries); error != H2Error::no_error) {
        return fail(error);
    }
    if (peer_.enable_push) return fail(H2Error::protocol_error);  // RFC 9113, 6.5.2
    // Before the acknowledgement, which promises that our blocks respect the new values (RFC 9113,
    // 6.5.3).
    encoder_.set_peer_table_bytes_max(peer_.header_table_size);
    std::array<char, wire::h2_settings_ack_bytes> ack;
    say({ack.data(), wire::write_h2_settings_ack(ack)});
    for (const auto& stream : streams_) {
        if (!stream->send_.move(old_window, peer_.initial_window_size)) {
            return fail(H2Error::flow_control_error);
        }
        // A larger first window opens streams that had left the scheduler for lack of one.
        if (stream->has_backlog()) scheduler_.add(*stream);
    }
    fill();
    if (!over_) connection_->ready();  // more may be allowed at once now
}

void ClientH2::on_frame(const wire::H2Ping& frame) {
    if (!charge(frame.ack ? H2Act::ack : H2Act::ping) || frame.ack) return;
    std::array<char, wire::h2_ping_bytes> answer;
    say({answer.data(), wire::write_h2_ping(answer, frame.data, true)});
}

// Requests that the server did not begin are sent again elsewhere; the rest is still answered.
void ClientH2::on_frame(const wire::H2Goaway& frame) {
    if (!charge(H2Act::goaway)) return;
    // A later GOAWAY may not raise it (RFC 9113, 6.8): we may have sent those requests elsewhere by
    // now.
    if (frame.last_stream > goaway_last_) return fail(H2Error::protocol_error);
    goaway_last_ = frame.last_stream;
    going_away_ = true;
    // Before the exchanges fail, so that a request which is tried again does not get this
    // connection.
    connection_->leave();
    const auto error = static_cast<H2Error>(frame.code);
    std::string why = "the server ends the connection (";
    why.append(to_string(error)) += ')';
    const Progress without_a_byte =
        error == H2Error::http_1_1_required ? Progress::http_1_1_required : Progress::unprocessed;
    // From the highest down: streams_ is in the order of its numbers.
    while (!streams_.empty() && streams_.back()->id_ > frame.last_stream) {
        // Frames of it that come nevertheless are passed over.
        Stream& last = *streams_.back();
        fail_exchange(last, H2StreamState::reset_by_us, why,
                      last.touched_ ? Progress::touched : without_a_byte);
    }
    after_close();
}

void ClientH2::on_frame(const wire::H2WindowUpdate& frame) {
    if (!charge(H2Act::window_update)) return;
    if (frame.stream == 0) {
        if (!send_.grow(frame.increment)) return fail(H2Error::flow_control_error);
        return fill();
    }
    Stream* const stream = find(frame.stream);
    if (stream == nullptr) {
        take_late(frame.stream, H2Act::late_frame, false);
        return;
    }
    if (!stream->send_.grow(frame.increment)) {
        return fail_stream(*stream, H2Error::flow_control_error, "its window is above the maximum");
    }
    if (!stream->has_backlog()) return;
    scheduler_.add(*stream);
    fill();
}

}  // namespace tiderace::http

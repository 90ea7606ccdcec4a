#include "tiderace/http/wire/response_reader.h"

#include <algorithm>
#include <array>

#include "tiderace/http/wire/field_line.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/framing.h"
#include "tiderace/http/wire/scan.h"
#include "tiderace/http/wire/status.h"

namespace tiderace::http::wire {
namespace {

constexpr ByteView version_prefix = "HTTP/1.";
constexpr std::size_t reason_place = 12;  // after "HTTP/1.1 200"

}  // namespace

std::string_view to_string(ResponseFault fault) {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(ResponseFault::count_)>
        texts{"",
              "no HTTP/1 answer",
              "a bad status line",
              "a bad field line",
              "a bad or doubtful Content-Length",
              "a transfer coding other than chunked",
              "the head is too large",
              "too many 1xx answers",
              "a bad chunk",
              "the connection ended inside an answer"};
    return texts[static_cast<std::size_t>(fault)];
}

void ResponseReader::next(bool to_head) {
    if (state_ == State::refused) return;
    state_ = State::head;
    interim_ = 0;
    to_head_ = to_head;
}

// Only a body without length or coding may end with the connection; any other is cut short.
bool ResponseReader::end_of_stream() {
    if (state_ == State::until_close) state_ = State::done;
    if (state_ == State::done) return true;
    if (state_ != State::refused) refuse(ResponseFault::cut_short);
    return false;
}

ResponseReader::Step ResponseReader::step(ByteView bytes, FieldPlaces* places) {
    switch (state_) {
        case State::head:
            return read_head(bytes, places);
        case State::length:
            return read_length(bytes);
        case State::chunked:
            return read_chunked(bytes);
        case State::until_close:
            if (bytes.empty()) return {};
            return {Status::data, bytes.size(), bytes};
        case State::done:
            return {Status::done, 0, {}};
        case State::refused:
            break;
    }
    return {Status::refused, 0, {}};
}

ResponseReader::Step ResponseReader::refuse(ResponseFault fault) {
    state_ = State::refused;
    fault_ = fault;
    return {Status::refused, 0, {}};
}

// As a head is read anew from its start each time, its limit also bounds that work.
ResponseReader::Step ResponseReader::more_head(ByteView bytes) {
    if (bytes.size() >= limits_.head_bytes_max) return refuse(ResponseFault::head_too_large);
    return {};
}

// The index after the line; 0 when it is not all there, or refused.
std::size_t ResponseReader::read_status_line(ByteView bytes) {
    const std::size_t known = std::min(bytes.size(), version_prefix.size());
    if (bytes.substr(0, known) != version_prefix.substr(0, known)) {
        refuse(ResponseFault::not_http);
        return 0;
    }
    if (bytes.size() < reason_place + 1) return 0;
    const bool digits = is_digit(bytes[7]) && bytes[8] == ' ' && bytes[9] >= '1' &&
                        bytes[9] <= '9' && is_digit(bytes[10]) && is_digit(bytes[11]);
    if (!digits || (bytes[reason_place] != ' ' && bytes[reason_place] != '\r')) {
        refuse(ResponseFault::bad_status_line);
        return 0;
    }
    const std::size_t end = scan::find_first<scan::ValueEnd>(bytes, reason_place);
    if (end == bytes.size()) return 0;
    if (bytes[end] == '\r' && end + 1 == bytes.size()) return 0;
    if (bytes[end] != '\r' || bytes[end + 1] != '\n') {
        refuse(ResponseFault::bad_status_line);
        return 0;
    }
    start_ = {};
    start_.version_minor = static_cast<std::uint8_t>(bytes[7] - '0');
    start_.status = static_cast<std::uint16_t>((bytes[9] - '0') * 100 + (bytes[10] - '0') * 10 +
                                               (bytes[11] - '0'));
    return end + 2;
}

ResponseReader::Step ResponseReader::read_head(ByteView bytes, FieldPlaces* places) {
    if (bytes.empty()) return {};
    if (places != nullptr) places->clear();
    // Reads no further than a head may reach, so that the limit does not depend on the split.
    const ByteView looked_at = bytes.substr(0, limits_.head_bytes_max);
    std::size_t at = read_status_line(looked_at);
    if (state_ == State::refused) return {Status::refused, 0, {}};
    if (at == 0) return more_head(looked_at);
    Framing framing;
    const std::size_t fields_at = at;
    while (true) {
        if (at == looked_at.size()) return more_head(looked_at);
        if (looked_at[at] == '\r') {
            if (at + 1 == looked_at.size()) return more_head(looked_at);
            if (looked_at[at + 1] != '\n') return refuse(ResponseFault::bad_field);
            break;
        }
        const FieldLine line = parse_field_line(looked_at, at);
        if (line.status == ParseStatus::need_more) return more_head(looked_at);
        if (line.status == ParseStatus::refused) return refuse(ResponseFault::bad_field);
        if (!read_field(line.name, line.value, framing)) return {Status::refused, 0, {}};
        if (places != nullptr) {
            const auto value_at = static_cast<std::size_t>(line.value.data() - looked_at.data());
            places->push_back(
                {at - fields_at, line.name.size(), value_at - fields_at, line.value.size()});
        }
        at = line.end;
    }
    // Either could be a lie, and the next answer would begin in the wrong place (RFC 9112, 6.3).
    if (framing.has_length && framing.has_coding) return refuse(ResponseFault::bad_length);
    // 101 is final: another protocol follows it.
    const bool is_interim = start_.status < 200 && start_.status != 101;
    if (is_interim) {
        if (++interim_ > limits_.interim_max) return refuse(ResponseFault::too_many_interim);
        Step step = read_head(bytes.substr(at + 2), places);  // at most interim_max deep
        step.used += at + 2;
        return step;
    }
    decide_body(framing);
    return {Status::head, at + 2, bytes.substr(fields_at, at - fields_at)};
}

bool ResponseReader::read_field(ByteView name, ByteView value, Framing& framing) {
    // As strict as for requests: a client reuses its connection, so a doubtful end of one answer
    // would give its rest to another request.
    if (name.size() == 14 && equals_ignoring_case(name, "content-length")) {
        const ContentLength length = parse_content_length(value);
        if (length.refusal != Refusal::none || framing.has_length) {
            refuse(ResponseFault::bad_length);
            return false;
        }
        framing.has_length = true;
        start_.length = length.value;
    } else if (name.size() == 17 && equals_ignoring_case(name, "transfer-encoding")) {
        if (framing.has_coding || !equals_ignoring_case(value, "chunked") ||
            start_.version_minor == 0) {
            refuse(ResponseFault::bad_coding);
            return false;
        }
        framing.has_coding = true;
    } else if (name.size() == 10 && equals_ignoring_case(name, "connection")) {
        for (ListReader list(value); list.next();) {
            framing.close |= equals_ignoring_case(list.element(), "close");
            framing.keep_alive |= equals_ignoring_case(list.element(), "keep-alive");
        }
    }
    return true;
}

void ResponseReader::decide_body(const Framing& framing) {
    using Body = ResponseStart::Body;
    // In this order (RFC 9112, 6.3): the method and the status first, then the coding, then the
    // length.
    const bool without = to_head_ || has_no_body(start_.status);
    start_.keep_alive = !framing.close && (start_.version_minor > 0 || framing.keep_alive);
    state_ = State::done;
    if (without) {
        start_.body = Body::none;
    } else if (framing.has_coding) {
        start_.body = Body::chunked;
        state_ = State::chunked;
        chunks_ = {};
    } else if (framing.has_length) {
        start_.body = start_.length > 0 ? Body::length : Body::none;
        if (start_.length > 0) state_ = State::length;
    } else {
        start_.body = Body::until_close;
        // The end of the connection ends the body (RFC 9112, 6.3), so nothing can follow it.
        start_.keep_alive = false;
        state_ = State::until_close;
    }
    left_ = start_.length;
}

ResponseReader::Step ResponseReader::read_length(ByteView bytes) {
    if (bytes.empty()) return {};
    const std::size_t taken =
        static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    left_ -= taken;
    if (left_ == 0) state_ = State::done;
    return {Status::data, taken, bytes.substr(0, taken)};
}

ResponseReader::Step ResponseReader::read_chunked(ByteView bytes) {
    std::size_t used = 0;
    while (true) {
        const ChunkedDecoder::Step step = chunks_.step(bytes.substr(used));
        used += step.used;
        switch (step.status) {
            case ChunkedDecoder::Status::data:
                return {Status::data, used, step.data};
            case ChunkedDecoder::Status::trailer:
                return {
                    .status = Status::trailer, .used = used, .data = {}, .trailer = step.trailer};
            case ChunkedDecoder::Status::need_more:
                return {Status::need_more, used, {}};
            case ChunkedDecoder::Status::done:
                state_ = State::done;
                return {Status::done, used, {}};
            case ChunkedDecoder::Status::refused:
                return refuse(ResponseFault::bad_chunk);
        }
    }
}

}  // namespace tiderace::http::wire

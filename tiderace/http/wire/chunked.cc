#include "tiderace/http/wire/chunked.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/field_line.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

// Sums of sizes below 2^63 do not overflow their counters, and 16 digits hold every such size.
constexpr std::uint64_t size_max = std::numeric_limits<std::int64_t>::max();
constexpr int digits_max = 16;

// RFC 9110, 6.5.1: fields that frame or route the message have been acted upon already.
bool may_trail(FieldName name) {
    return name != FieldName::content_length && name != FieldName::transfer_encoding &&
           name != FieldName::host;
}

}  // namespace

// Every H1Exchange holds one.
static_assert(sizeof(ChunkedDecoder) <= 24);

// Each of these takes one byte: it moves on to the next state, or says why the byte may not come.

Refusal ChunkedDecoder::take_size(char c) {
    const int digit = hex_value(c);
    if (digit < 0) {
        return state_ == State::size_start ? refusal_for(c, Refusal::bad_chunk_size)
                                           : end_of_part(c);
    }
    size_ = size_ << 4 | static_cast<unsigned>(digit);
    // Digits are counted, too: leading zeros could go on for ever without making the size larger.
    if (++digits_ > digits_max || size_ > size_max) return Refusal::bad_chunk_size;
    state_ = State::size;
    return Refusal::none;
}

// After the size or an extension: another extension, "bad" white space before one, or the line's
// end.
Refusal ChunkedDecoder::end_of_part(char c) {
    if (c == '\r') {
        state_ = State::line_feed;
    } else if (c == ';') {
        state_ = State::name_start;
    } else if (is_ows(c)) {
        // "Bad" white space (RFC 9112, 7.1.1): recipients have to accept it.
        state_ = State::before_semicolon;
    } else {
        return refusal_for(
            c, state_ == State::size ? Refusal::bad_chunk_size : Refusal::bad_chunk_extension);
    }
    return Refusal::none;
}

Refusal ChunkedDecoder::skip_ows_or(char c, bool fits, State next) {
    if (is_ows(c)) return Refusal::none;
    if (!fits) return refusal_for(c, Refusal::bad_chunk_extension);
    state_ = next;
    return Refusal::none;
}

Refusal ChunkedDecoder::take_extension(char c) {
    const bool token = is(token_byte, c);
    switch (state_) {
        case State::before_semicolon:
            return skip_ows_or(c, c == ';', State::name_start);
        case State::name_start:
            return skip_ows_or(c, token, State::name);
        case State::after_name:
            return skip_ows_or(c, c == '=' || c == ';',
                               c == '=' ? State::value_start : State::name_start);
        case State::value_start:
            return skip_ows_or(c, token || c == '"', token ? State::value : State::quoted);
        case State::name:
            if (token) return Refusal::none;
            if (c != '=' && !is_ows(c)) return end_of_part(c);
            state_ = c == '=' ? State::value_start : State::after_name;
            return Refusal::none;
        case State::value:
            return token ? Refusal::none : end_of_part(c);
        case State::after_quoted:
            return end_of_part(c);
        case State::quoted:
            if (c == '"') state_ = State::after_quoted;
            if (c == '\\') state_ = State::quoted_pair;
            if (state_ != State::quoted || is(quoted_byte, c)) return Refusal::none;
            return refusal_for(c, Refusal::bad_chunk_extension);
        default:  // quoted_pair
            if (!is(value_byte, c)) return refusal_for(c, Refusal::bad_chunk_extension);
            state_ = State::quoted;
            return Refusal::none;
    }
}

Refusal ChunkedDecoder::end_of_line(char c) {
    // A lone LF or CR as a line's end lets two readers see different chunks (request smuggling).
    if (c != '\n') return Refusal::bare_cr;
    digits_ = 0;
    state_ = size_ > 0 ? State::data : State::trailers;
    return Refusal::none;
}

Refusal ChunkedDecoder::expect(char wanted, char c, State next) {
    if (c != wanted) return Refusal::bad_chunk_data;
    state_ = next;
    return Refusal::none;
}

Refusal ChunkedDecoder::take(char c, std::uint32_t extension_bytes_max) {
    switch (state_) {
        case State::size_start:
        case State::size:
            return take_size(c);
        case State::line_feed:
            return end_of_line(c);
        case State::data_cr:
            return expect('\r', c, State::data_lf);
        case State::data_lf:
            return expect('\n', c, State::size_start);
        default:
            // Counted over the whole body, because a peer could send them with every chunk of one
            // byte.
            if (++extension_bytes_ > extension_bytes_max) {
                return Refusal::chunk_extensions_too_large;
            }
            return take_extension(c);
    }
}

ChunkedDecoder::Step ChunkedDecoder::refuse(Refusal refusal, std::size_t used) {
    state_ = State::refused;
    refusal_ = refusal;
    return {.status = Status::refused, .refusal = refusal, .used = used};
}

ChunkedDecoder::Step ChunkedDecoder::step_data(ByteView bytes, std::size_t at) {
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(size_, bytes.size() - at));
    size_ -= here;
    if (size_ == 0) state_ = State::data_cr;
    return {.status = Status::data, .used = at + here, .data = bytes.substr(at, here)};
}

ChunkedDecoder::Step ChunkedDecoder::step_trailer(ByteView bytes, std::size_t at,
                                                  std::uint32_t bytes_max) {
    const std::size_t left = bytes_max - std::min(trailer_bytes_, bytes_max);
    // Cut at the limit, so that it does not depend on how the bytes arrived.
    const ByteView section = bytes.substr(at, left);
    FieldLine line{ParseStatus::need_more, Refusal::none, 0, {}, {}};
    const bool at_end = section.starts_with('\r');
    if (!at_end) {
        line = parse_field_line(section, 0);
    } else if (section.size() > 1) {
        if (section[1] != '\n') return refuse(Refusal::bare_cr, at);
        state_ = State::done;
        return {.status = Status::done, .used = at + 2};
    }
    if (line.status == ParseStatus::need_more) {
        if (section.size() == left) return refuse(Refusal::trailers_too_large, at);
        return {.status = Status::need_more, .used = at};
    }
    if (line.status == ParseStatus::refused) return refuse(line.refusal, at);
    const Field field{line.name, line.value, intern_field_name(line.name)};
    if (!may_trail(field.id)) return refuse(Refusal::bad_trailer, at);
    trailer_bytes_ += static_cast<std::uint32_t>(line.end);
    return {.status = Status::trailer, .used = at + line.end, .trailer = field};
}

ChunkedDecoder::Step ChunkedDecoder::step(ByteView bytes, const ChunkLimits& limits) {
    if (state_ == State::refused) return {.status = Status::refused, .refusal = refusal_};
    if (state_ == State::done) return {.status = Status::done};
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        // Data and trailers are taken in pieces, all else byte by byte: a chunk's head is a few
        // bytes.
        if (state_ == State::data) return step_data(bytes, at);
        if (state_ == State::trailers) return step_trailer(bytes, at, limits.trailer_bytes_max);
        const Refusal refusal = take(bytes[at], limits.extension_bytes_max);
        if (refusal != Refusal::none) return refuse(refusal, at);
    }
    return {.status = Status::need_more, .used = bytes.size()};
}

std::size_t format_chunk_head(std::uint64_t size, char* out) {
    TR_CHECK(size > 0, "a chunk of size 0 ends the body: write last_chunk");
    char* end = std::to_chars(out, out + digits_max, size, 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    return static_cast<std::size_t>(end - out);
}

}  // namespace tiderace::http::wire

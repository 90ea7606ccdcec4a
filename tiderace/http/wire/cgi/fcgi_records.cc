#include "tiderace/http/wire/cgi/fcgi_records.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/cgi/meta_variables.h"

namespace tiderace::http::wire::cgi {
namespace {

constexpr std::size_t content_max = 65'535;
constexpr std::size_t params_record_max = 32'768;
constexpr std::size_t header_bytes = 8;
constexpr std::size_t begin_bytes = 16;
// Enough for a browser's request.
constexpr std::size_t usual_params_bytes = 2'048;

char* put_header(char* at, FcgiType type, std::uint16_t id, std::size_t content) {
    const auto byte = [](std::size_t value) { return static_cast<char>(value & 0xff); };
    // FCGI_VERSION_1; the last two bytes are the length of the padding, none, and a reserved one.
    const std::array<char, header_bytes> header{
        1, static_cast<char>(type), byte(id >> 8), byte(id), byte(content >> 8), byte(content), 0,
        0};
    return std::ranges::copy(header, at).out;
}

// Below it a length takes one byte (FastCGI, 3.4).
constexpr std::size_t long_length = 128;
constexpr std::size_t length_bytes_max = 4;

// One byte, or four with the topmost bit set (FastCGI, 3.4).
char* put_length(char* at, std::size_t length) {
    if (length < long_length) {
        *at++ = static_cast<char>(length);
        return at;
    }
    *at++ = static_cast<char>(0x80 | ((length >> 24) & 0x7f));
    for (const int shift : {16, 8, 0}) *at++ = static_cast<char>((length >> shift) & 0xff);
    return at;
}

// For a responder whose connection is kept.
void put_begin_request(char* at, std::uint16_t id) {
    // Role FCGI_RESPONDER and the flag FCGI_KEEP_CONN.
    constexpr ByteView responder_kept("\0\1\1\0\0\0\0\0", begin_bytes - header_bytes);
    at = put_header(at, FcgiType::begin_request, id, responder_kept.size());
    std::ranges::copy(responder_kept, at);
}

// By memcpy(): g++ 12 makes a loop of its own out of std::ranges::copy() from const bytes.
char* put(char* at, ByteView text) {
    return at + text.copy(at, text.size());
}

}  // namespace

void append_record(std::string& out, FcgiType type, std::uint16_t id, ByteView content) {
    TR_CHECK(content.size() <= content_max);
    std::array<char, header_bytes> header;
    put_header(header.data(), type, id, content.size());
    out.append(header.data(), header.size()).append(content);
}

void FcgiParams::begin(std::uint16_t id) {
    id_ = id;
    size_ = begin_bytes + header_bytes;  // filled in by end(), which knows the length
    if (text_.size() < usual_params_bytes) text_.resize(usual_params_bytes);
}

void FcgiParams::grow(std::size_t bytes) {
    text_.resize(2 * text_.size() + bytes);
}

char* FcgiParams::room(std::size_t bytes) {
    if (text_.size() - size_ < bytes) grow(bytes);
    return text_.data() + size_;
}

// Not inline: a copy for each variable is code that every request brings into the cache.
[[gnu::noinline]] void FcgiParams::add(ByteView name, ByteView value) {
    char* at = room(2 * length_bytes_max + name.size() + value.size());
    at = put_length(put_length(at, name.size()), value.size());
    at = put(put(at, name), value);
    size_ = static_cast<std::size_t>(at - text_.data());
}

void FcgiParams::add(ByteView name, std::uint64_t value) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    add(name, ByteView(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

void FcgiParams::add_field(ByteView field, ByteView value) {
    const std::size_t name_bytes = field_variable_prefix.size() + field.size();
    char* at = room(2 * length_bytes_max + name_bytes + value.size());
    at = put_length(put_length(at, name_bytes), value.size());
    at = put(at, field_variable_prefix);
    at = std::ranges::transform(field, at, field_variable_character).out;
    size_ = static_cast<std::size_t>(put(at, value) - text_.data());
}

ByteView FcgiParams::end(Input input) {
    const std::size_t pairs = size_ - begin_bytes - header_bytes;
    room(2 * header_bytes);
    if (pairs > params_record_max) divide();
    char* const front = text_.data();
    put_begin_request(front, id_);
    char* at = front + begin_bytes;
    // Without a variable the record that ends the stream is the only one: no other is empty.
    if (pairs == 0) size_ -= header_bytes;
    if (pairs > 0) put_header(at, FcgiType::params, id_, std::min(pairs, params_record_max));
    at = put_header(front + size_, FcgiType::params, id_, 0);
    if (input == Input::empty) at = put_header(at, FcgiType::standard_input, id_, 0);
    return {front, static_cast<std::size_t>(at - front)};
}

// Rare: more variables than one record should hold.
void FcgiParams::divide() {
    const std::size_t first = begin_bytes + header_bytes + params_record_max;
    std::string divided = text_.substr(0, first);
    for (ByteView rest = ByteView(text_).substr(first, size_ - first); !rest.empty();) {
        const ByteView part = rest.substr(0, params_record_max);
        append_record(divided, FcgiType::params, id_, part);
        rest.remove_prefix(part.size());
    }
    size_ = divided.size();
    divided.resize(size_ + 2 * header_bytes);
    text_ = std::move(divided);
}

FcgiEvent FcgiReader::fail() {
    failed_ = true;
    FcgiEvent event;
    event.kind = FcgiEvent::Kind::fault;
    return event;
}

bool FcgiReader::take_header(ByteView& data) {
    const std::size_t part = std::min(header_bytes - header_got_, data.size());
    data.copy(reinterpret_cast<char*>(header_.data()) + header_got_, part);
    header_got_ += part;
    data.remove_prefix(part);
    if (header_got_ < header_bytes) return false;
    header_got_ = 0;
    in_record_ = true;
    type_ = static_cast<FcgiType>(header_[1]);
    id_ = static_cast<std::uint16_t>(header_[2] << 8 | header_[3]);
    content_left_ = static_cast<std::size_t>(header_[4] << 8 | header_[5]);
    padding_left_ = header_[6];
    return true;
}

// A record of another type or size cannot be skipped safely: the peer does not speak FastCGI as we
// do.
bool FcgiReader::is_sound() const {
    if (header_[0] != 1) return false;
    switch (type_) {
        case FcgiType::standard_output:
        case FcgiType::standard_error:
            return id_ != 0;
        case FcgiType::end_request:
            return id_ != 0 && content_left_ == end_bytes;
        default:
            return false;
    }
}

FcgiEvent FcgiReader::next(ByteView& data) {
    if (failed_) return fail();
    for (;;) {
        if (!in_record_) {
            if (!take_header(data)) return {};
            if (!is_sound()) return fail();
            // An empty record is an event as well: it means the stream's end.
            if (content_left_ == 0) return take_stream(data);
        }
        if (content_left_ == 0) {
            const std::size_t part = std::min(padding_left_, data.size());
            data.remove_prefix(part);
            padding_left_ -= part;
            if (padding_left_ > 0) return {};
            in_record_ = false;
            if (data.empty()) return {};
            continue;
        }
        if (data.empty()) return {};
        if (type_ != FcgiType::end_request) return take_stream(data);
        const FcgiEvent event = take_end(data);
        if (event.kind != FcgiEvent::Kind::need_more) return event;
    }
}

FcgiEvent FcgiReader::take_stream(ByteView& data) {
    FcgiEvent event;
    event.kind =
        type_ == FcgiType::standard_output ? FcgiEvent::Kind::output : FcgiEvent::Kind::errors;
    event.id = id_;
    event.bytes = data.substr(0, content_left_);
    content_left_ -= event.bytes.size();
    data.remove_prefix(event.bytes.size());
    return event;
}

FcgiEvent FcgiReader::take_end(ByteView& data) {
    const std::size_t part = std::min(content_left_, data.size());
    data.copy(reinterpret_cast<char*>(end_.data()) + end_bytes - content_left_, part);
    content_left_ -= part;
    data.remove_prefix(part);
    if (content_left_ > 0) return {};
    FcgiEvent event;
    event.kind = FcgiEvent::Kind::end_request;
    event.id = id_;
    for (std::size_t i = 0; i < 4; ++i) {
        event.application_status = event.application_status << 8 | end_[i];
    }
    event.end = static_cast<FcgiEnd>(end_[4]);
    return event;
}

}  // namespace tiderace::http::wire::cgi

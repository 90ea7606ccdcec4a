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

// The length at the front of `pairs`; false: it is cut off.
bool take_length(ByteView& pairs, std::size_t& length) {
    if (pairs.empty()) return false;
    const auto at = [&](std::size_t i) {
        return static_cast<std::size_t>(static_cast<unsigned char>(pairs[i]));
    };
    if (at(0) < 0x80) {
        length = at(0);
        pairs.remove_prefix(1);
        return true;
    }
    if (pairs.size() < 4) return false;
    length = (at(0) & 0x7f) << 24 | at(1) << 16 | at(2) << 8 | at(3);
    pairs.remove_prefix(4);
    return true;
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

void append_get_values(std::string& out) {
    constexpr ByteView name = "FCGI_MPXS_CONNS";
    std::string pair{static_cast<char>(name.size()), '\0'};
    pair += name;
    append_record(out, FcgiType::get_values, 0, pair);
}

ByteView find_value(ByteView pairs, ByteView name) {
    std::size_t name_bytes = 0;
    std::size_t value_bytes = 0;
    while (take_length(pairs, name_bytes) && take_length(pairs, value_bytes)) {
        // Subtracted, not added: lengths of 31 bits come from the peer.
        if (name_bytes > pairs.size() || value_bytes > pairs.size() - name_bytes) return {};
        if (pairs.substr(0, name_bytes) == name) return pairs.substr(name_bytes, value_bytes);
        pairs.remove_prefix(name_bytes + value_bytes);
    }
    return {};
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
    kept_.clear();
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
            return id_ != 0 && content_left_ == 8;
        case FcgiType::get_values_result:
        case FcgiType::unknown_type:
            return id_ == 0 && content_left_ <= kept_bytes_max;
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
            const bool is_stream =
                type_ == FcgiType::standard_output || type_ == FcgiType::standard_error;
            // An empty record is an event as well: for a stream it means the stream's end.
            if (content_left_ == 0) return is_stream ? take_stream(data) : finish_whole({});
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
        const bool is_stream =
            type_ == FcgiType::standard_output || type_ == FcgiType::standard_error;
        if (is_stream) return take_stream(data);
        const FcgiEvent event = take_whole(data);
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

FcgiEvent FcgiReader::take_whole(ByteView& data) {
    const ByteView part = data.substr(0, content_left_);
    content_left_ -= part.size();
    data.remove_prefix(part.size());
    // Nearly every one comes in one piece, and is read where it lies.
    if (content_left_ == 0 && kept_.empty()) return finish_whole(part);
    kept_ += part;
    return content_left_ == 0 ? finish_whole(kept_) : FcgiEvent{};
}

FcgiEvent FcgiReader::finish_whole(ByteView content) const {
    FcgiEvent event;
    event.id = id_;
    if (type_ == FcgiType::get_values_result) {
        event.kind = FcgiEvent::Kind::values;
        event.bytes = content;
    } else if (type_ == FcgiType::end_request) {
        event.kind = FcgiEvent::Kind::end_request;
        for (int i = 0; i < 4; ++i) {
            event.application_status =
                event.application_status << 8 |
                static_cast<unsigned char>(content[static_cast<std::size_t>(i)]);
        }
        event.end = static_cast<FcgiEnd>(content[4]);
    } else {
        event.kind = FcgiEvent::Kind::values;  // a type of ours is unknown to it: no values
    }
    return event;
}

}  // namespace tiderace::http::wire::cgi

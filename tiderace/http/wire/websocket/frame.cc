#include "tiderace/http/wire/websocket/frame.h"

#include <algorithm>
#include <array>

#include "tiderace/base/check.h"
#include "tiderace/base/utf8.h"

namespace tiderace::http::wire {
namespace {

constexpr std::size_t mask_bytes = 4;

std::uint64_t read_big_endian(ByteView bytes) {
    std::uint64_t value = 0;
    for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
    return value;
}

WebSocketHeadParse need_more() {
    return {ParseStatus::need_more, WebSocketFault::none, 0, {}};
}
WebSocketHeadParse refuse(WebSocketFault fault) {
    return {ParseStatus::refused, fault, 0, {}};
}

WebSocketFault judge_first_byte(unsigned char first) {
    const unsigned opcode = first & 0x0f;
    // RSV2 and RSV3. RSV1 marks compressed messages, which judge() decides about.
    if ((first & 0x30) != 0) return WebSocketFault::reserved_bit;
    if ((opcode > 2 && opcode < 8) || opcode > 10) return WebSocketFault::unknown_opcode;
    if (opcode >= 8 && (first & 0x80) == 0) return WebSocketFault::control_fragmented;
    return WebSocketFault::none;
}

// How long a message may be on the wire. What does not compress grows a little, and must not be
// refused for it.
std::uint64_t wire_bytes_max(std::uint64_t message_bytes_max, bool compressed) {
    const std::uint64_t grown = compressed ? message_bytes_max / 1024 + 64 : 0;
    return message_bytes_max > UINT64_MAX - grown ? UINT64_MAX : message_bytes_max + grown;
}

// What has the right to RSV1: the first frame of a compressed message.
bool may_be_compressed(WebSocketOpcode opcode) {
    return opcode == WebSocketOpcode::text || opcode == WebSocketOpcode::binary;
}

}  // namespace

std::string_view to_string(WebSocketFault fault) {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(WebSocketFault::count_)>
        names{"none",
              "reserved bit set",
              "unknown opcode",
              "fragmented control frame",
              "control frame over 125 bytes",
              "frame not masked",
              "frame masked",
              "length not in its shortest form",
              "length over 63 bits",
              "new message inside a message",
              "nothing to continue",
              "message too large",
              "frame too large",
              "not UTF-8",
              "close payload of one byte",
              "close code that may not be sent",
              "bad compressed data"};
    return names[static_cast<std::size_t>(fault)];
}

bool may_be_sent(std::uint16_t code) {
    // RFC 6455, 7.4, and IANA's registry: 1004 to 1006 and 1015 stand for what never is in a frame.
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

std::uint16_t close_code_for(WebSocketFault fault) {
    switch (fault) {
        case WebSocketFault::not_utf8:
        case WebSocketFault::bad_compression:
            return websocket_close::bad_payload;
        case WebSocketFault::message_too_large:
        case WebSocketFault::frame_too_large:
            return websocket_close::too_large;
        default:
            return websocket_close::protocol_error;
    }
}

//   0               1               2 or 4 or 10     +4 with a mask
//   FIN RSV opcode | M length 7   | length 16 or 64 | key  | payload      (RFC 6455, 5.2)
//
// The first byte and the length are judged as soon as they are here, so that a fault does not wait
// for the rest of the head.
WebSocketHeadParse parse_websocket_head(ByteView data) {
    if (data.empty()) return need_more();
    const auto first = static_cast<unsigned char>(data[0]);
    if (const WebSocketFault fault = judge_first_byte(first); fault != WebSocketFault::none) {
        return refuse(fault);
    }
    WebSocketFrameHead head;
    head.opcode = static_cast<WebSocketOpcode>(first & 0x0f);
    head.final = (first & 0x80) != 0;
    head.compressed = (first & 0x40) != 0;
    if (data.size() < 2) return need_more();
    const auto second = static_cast<unsigned char>(data[1]);
    head.masked = (second & 0x80) != 0;
    head.payload_bytes = second & 0x7f;
    std::size_t bytes = 2;
    if (head.payload_bytes > websocket_control_bytes_max) {
        if (is_control(head.opcode)) return refuse(WebSocketFault::control_too_long);
        const std::size_t length_bytes = head.payload_bytes == 126 ? 2 : 8;
        const ByteView length = data.substr(bytes, length_bytes);
        // RFC 6455, 5.2: the topmost bit of a length of 8 bytes is 0.
        if (length_bytes == 8 && !length.empty() && (length[0] & 0x80) != 0) {
            return refuse(WebSocketFault::length_overflow);
        }
        if (length.size() < length_bytes) return need_more();
        head.payload_bytes = read_big_endian(length);
        // RFC 6455, 5.2: the shortest form only.
        if (head.payload_bytes < (length_bytes == 2 ? 126u : 0x10000u)) {
            return refuse(WebSocketFault::length_not_shortest);
        }
        bytes += length_bytes;
    }
    if (head.masked) {
        if (data.size() < bytes + mask_bytes) return need_more();
        for (std::size_t i = 0; i < mask_bytes; ++i) {
            head.mask.key[i] = static_cast<unsigned char>(data[bytes + i]);
        }
        bytes += mask_bytes;
    }
    return {ParseStatus::complete, WebSocketFault::none, bytes, head};
}

std::size_t write_websocket_head(const WebSocketFrameHead& head,
                                 std::span<char, websocket_head_bytes_max> out) {
    const unsigned first = static_cast<unsigned>(head.opcode) | (head.final ? 0x80u : 0u) |
                           (head.compressed ? 0x40u : 0u);
    const unsigned mask_bit = head.masked ? 0x80u : 0u;
    out[0] = static_cast<char>(first);
    std::size_t length_bytes = 0;
    if (head.payload_bytes <= 125) {
        out[1] = static_cast<char>(head.payload_bytes | mask_bit);
    } else {
        length_bytes = head.payload_bytes <= 0xffff ? 2 : 8;
        out[1] = static_cast<char>((length_bytes == 2 ? 126u : 127u) | mask_bit);
        for (std::size_t i = 0; i < length_bytes; ++i) {
            out[2 + i] = static_cast<char>(head.payload_bytes >> (8 * (length_bytes - 1 - i)));
        }
    }
    std::size_t bytes = 2 + length_bytes;
    if (head.masked) {
        for (const unsigned char byte : head.mask.key) out[bytes++] = static_cast<char>(byte);
    }
    return bytes;
}

WebSocketClose parse_websocket_close(ByteView payload) {
    if (payload.empty()) return {};
    if (payload.size() == 1) return {.fault = WebSocketFault::close_payload_of_one};
    WebSocketClose close;
    close.code = static_cast<std::uint16_t>(read_big_endian(payload.substr(0, 2)));
    close.reason = payload.substr(2);
    if (!may_be_sent(close.code)) {
        close.fault = WebSocketFault::bad_close_code;
    } else if (!is_utf8(close.reason)) {
        close.fault = WebSocketFault::not_utf8;
    }
    return close;
}

// What this frame may be, after the ones before it.
WebSocketFault WebSocketReader::judge(const WebSocketFrameHead& head) const {
    if (head.compressed && !(options_.compression && may_be_compressed(head.opcode))) {
        return WebSocketFault::reserved_bit;
    }
    // A server closes on a frame without a mask, a client on one with it (RFC 6455, 5.1). The masks
    // keep pages from making a browser send bytes that a proxy would take for HTTP.
    if (head.masked != options_.masked) {
        return head.masked ? WebSocketFault::mask_present : WebSocketFault::mask_missing;
    }
    // They may come between the frames of a message (RFC 6455, 5.4).
    if (is_control(head.opcode)) return WebSocketFault::none;
    if (in_message_ != (head.opcode == WebSocketOpcode::continuation)) {
        return in_message_ ? WebSocketFault::message_unfinished
                           : WebSocketFault::nothing_to_continue;
    }
    if (head.payload_bytes > options_.frame_bytes_max) return WebSocketFault::frame_too_large;
    const bool compressed = in_message_ ? compressed_ : head.compressed;
    const std::uint64_t before = in_message_ ? message_bytes_ : 0;
    // No underflow: each earlier frame of the message passed this check.
    if (head.payload_bytes > wire_bytes_max(options_.message_bytes_max, compressed) - before) {
        return WebSocketFault::message_too_large;
    }
    return WebSocketFault::none;
}

WebSocketReader::Step WebSocketReader::next(ByteView data) {
    // A large payload is passed on as it arrives; nothing is gathered here.
    if (in_frame_) return data.empty() ? Step{} : take_payload(data, 0);
    const WebSocketHeadParse parsed = parse_websocket_head(data);
    if (parsed.status == ParseStatus::need_more) return {};
    if (parsed.status == ParseStatus::refused) {
        return {.kind = Step::Kind::fault, .fault = parsed.fault};
    }
    if (const WebSocketFault fault = judge(parsed.head); fault != WebSocketFault::none) {
        return {.kind = Step::Kind::fault, .fault = fault};
    }
    return begin_frame(data, parsed);
}

WebSocketReader::Step WebSocketReader::begin_frame(ByteView data,
                                                   const WebSocketHeadParse& parsed) {
    const WebSocketFrameHead& head = parsed.head;
    if (is_control(head.opcode)) {
        // At most 125 bytes, so a control frame is awaited whole.
        if (data.size() - parsed.bytes < head.payload_bytes) return {};
        const auto size = static_cast<std::size_t>(head.payload_bytes);
        return {.kind = Step::Kind::control,
                .opcode = head.opcode,
                .used = parsed.bytes + size,
                .payload = data.substr(parsed.bytes, size),
                .mask = head.mask};
    }
    first_ = !in_message_;
    if (first_) {
        opcode_ = head.opcode;
        compressed_ = head.compressed;
        message_bytes_ = 0;
    }
    message_bytes_ += head.payload_bytes;
    frame_bytes_left_ = head.payload_bytes;
    final_ = head.final;
    mask_ = head.mask;
    in_frame_ = in_message_ = true;
    return take_payload(data, parsed.bytes);
}

WebSocketReader::Step WebSocketReader::take_payload(ByteView data, std::size_t from) {
    Step step{.kind = Step::Kind::payload,
              .opcode = opcode_,
              .compressed = compressed_,
              .first = first_,
              .payload = data.substr(from, static_cast<std::size_t>(std::min<std::uint64_t>(
                                               frame_bytes_left_, data.size() - from))),
              .mask = mask_};
    step.used = from + step.payload.size();
    first_ = false;
    frame_bytes_left_ -= step.payload.size();
    // The next piece begins where this one ended in the key of four bytes.
    mask_ = mask_.after(step.payload.size());
    in_frame_ = frame_bytes_left_ > 0;
    step.last = final_ && !in_frame_;
    in_message_ = !step.last;
    return step;
}

}  // namespace tiderace::http::wire

// Internal. WebSocket frames (RFC 6455, 5): their heads, what a peer may not send, and close
// payloads.
//
//   bytes -> WebSocketReader::next -> [payload, …, last] of a message, or one control frame
//
// The reader is strict: what the standard forbids is a fault as soon as it is certain, and no
// verdict depends on how the bytes were cut. It copies nothing: a payload stays masked, with the
// mask rotated to its first byte.
//
// Thread   One at a time.
// Errors   The peer's are a WebSocketFault, each with the close code that answers it.
// Limits   WebSocketReaderOptions; a control payload is 125 bytes at most.
// Memory   A reader is 64 bytes; it holds none of the peer's bytes.
// Keywords: ping, pong, close code, opcode
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/refusal.h"
#include "tiderace/http/wire/websocket/mask.h"

namespace tiderace::http::wire {

enum class WebSocketOpcode : std::uint8_t {
    continuation = 0,
    text = 1,
    binary = 2,
    close = 8,
    ping = 9,
    pong = 10
};
constexpr bool is_control(WebSocketOpcode opcode) {
    return static_cast<std::uint8_t>(opcode) >= 8;
}

enum class WebSocketFault : std::uint8_t {
    none,
    reserved_bit,          // RSV1 without an extension that means something by it, RSV2, RSV3
    unknown_opcode,        // 3 to 7, 11 to 15
    control_fragmented,    // a control frame without FIN
    control_too_long,      // over 125 bytes
    mask_missing,          // from a client
    mask_present,          // from a server
    length_not_shortest,   // 126 or 127 where fewer bytes would have said it
    length_overflow,       // the top bit of a 64-bit length
    message_unfinished,    // a new message inside a fragmented one
    nothing_to_continue,   // a continuation of no message
    message_too_large,     // over message_bytes_max
    frame_too_large,       // over frame_bytes_max
    not_utf8,              // a text message, or a close reason
    close_payload_of_one,  // half a close code
    bad_close_code,        // one that may not be sent
    bad_compression,       // not a deflate stream, or one that does not end
    count_                 // how many faults there are
};
std::string_view to_string(WebSocketFault fault);

// RFC 6455, 7.4.1, and the registry that it founded.
namespace websocket_close {
inline constexpr std::uint16_t normal = 1000;
inline constexpr std::uint16_t going_away = 1001;
inline constexpr std::uint16_t protocol_error = 1002;
inline constexpr std::uint16_t unsupported_data = 1003;
inline constexpr std::uint16_t no_code = 1005;   // never on the wire: the close frame was empty
inline constexpr std::uint16_t abnormal = 1006;  // never on the wire: there was no close frame
inline constexpr std::uint16_t bad_payload = 1007;
inline constexpr std::uint16_t policy = 1008;
inline constexpr std::uint16_t too_large = 1009;
inline constexpr std::uint16_t internal_error = 1011;
inline constexpr std::uint16_t try_again_later = 1013;
}  // namespace websocket_close
// Whether a close frame may carry it.
bool may_be_sent(std::uint16_t close_code);
// What a fault is answered with: 1002, 1007 or 1009.
std::uint16_t close_code_for(WebSocketFault fault);

inline constexpr std::size_t websocket_control_bytes_max = 125;
inline constexpr std::size_t websocket_head_bytes_max = 14;

struct WebSocketFrameHead {
    std::uint64_t payload_bytes = 0;
    WebSocketMask mask;
    WebSocketOpcode opcode = WebSocketOpcode::continuation;
    bool final = true;
    bool compressed = false;  // RSV1, as permessage-deflate means it (RFC 7692, 6)
    bool masked = false;
};

struct WebSocketHeadParse {
    ParseStatus status;
    WebSocketFault fault;  // none unless refused
    std::size_t bytes;     // of the head, when complete
    WebSocketFrameHead head;
};
// The head at the front of `data`. On need_more nothing is kept. Says what is wrong with this head
// by itself; what stands in no relation to the frames before it is WebSocketReader's to say.
WebSocketHeadParse parse_websocket_head(ByteView data);
// Writes it the shortest way; returns how many bytes count.
std::size_t write_websocket_head(const WebSocketFrameHead& head,
                                 std::span<char, websocket_head_bytes_max> out);

struct WebSocketClose {
    std::uint16_t code = websocket_close::no_code;
    ByteView reason;
    WebSocketFault fault = WebSocketFault::none;
};
// The unmasked payload of a close frame.
WebSocketClose parse_websocket_close(ByteView payload);

struct WebSocketReaderOptions {
    bool masked = true;                          // what a server is sent; a client is sent unmasked
    bool compression = false;                    // permessage-deflate was agreed on
    std::uint64_t message_bytes_max = 16_MiB;    // of a message's payload, all fragments together
    std::uint64_t frame_bytes_max = UINT64_MAX;  // of one frame's payload
};

class WebSocketReader {
  public:
    explicit WebSocketReader(const WebSocketReaderOptions& options) : options_(options) {}

    struct Step {
        enum class Kind : std::uint8_t {
            need_more,  // give the unused bytes again, with more behind them
            payload,    // bytes of a message, perhaps none
            control,    // a whole control frame
            fault,      // give no more: the stream makes no sense from here on
        };
        Kind kind = Kind::need_more;
        WebSocketFault fault = WebSocketFault::none;
        WebSocketOpcode opcode = WebSocketOpcode::text;  // text, binary, or the control frame's
        bool compressed = false;                         // the message is
        bool first = false;                              // the message begins here
        bool last = false;                               // the message ends here
        std::size_t used = 0;                            // of the bytes given
        ByteView payload;                                // as sent: masked unless `mask` is zero
        WebSocketMask mask;                              // zero where nothing is masked
    };
    Step next(ByteView data);
    // Inside a message, or inside a frame.
    bool inside_message() const { return in_message_; }

  private:
    WebSocketFault judge(const WebSocketFrameHead& head) const;
    Step begin_frame(ByteView data, const WebSocketHeadParse& parsed);
    Step take_payload(ByteView data, std::size_t from);

    WebSocketReaderOptions options_;
    std::uint64_t frame_bytes_left_ = 0;
    std::uint64_t message_bytes_ = 0;
    WebSocketMask mask_;
    WebSocketOpcode opcode_ = WebSocketOpcode::text;
    bool in_frame_ = false;
    bool in_message_ = false;
    bool first_ = false;
    bool final_ = false;
    bool compressed_ = false;
};

}  // namespace tiderace::http::wire

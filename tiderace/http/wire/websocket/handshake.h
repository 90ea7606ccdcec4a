// Internal. WebSocket opening handshake: what a request must be, and what answers it (RFC 6455, 4;
// RFC 8441 for the form that HTTP/2 gives it).
//
//   server: judge_websocket_request -> choose_subprotocol -> websocket_accept
//   client: websocket_request -> parse_websocket_answer
//
// Thread   Any: pure functions.
// Errors   The peer's are a WebSocketRefusal, or the reason why an answer is none.
// Memory   None, but for the client's request text.
// Keywords: Sec-WebSocket-Key, upgrade, 101, subprotocol
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/request_head.h"

namespace tiderace::http::wire {

enum class WebSocketRefusal : std::uint8_t {
    none,
    not_asked_for,  // an ordinary request: 426 with Upgrade
    bad_method,     // not GET: 405 would say it, but it is 400 as for the next ones
    bad_version,    // not 13: 426 with Sec-WebSocket-Version
    bad_key,        // not sixteen bytes of base64, or more than one
    bad_protocols,  // Sec-WebSocket-Protocol is no list of different tokens
    bad_origin,     // not one that is let in: 403
};
// 400, 403 or 426.
int status_for(WebSocketRefusal refusal);
// One sentence for the answer's body.
std::string_view to_string(WebSocketRefusal refusal);

// Over which protocol it came: they ask differently.
enum class WebSocketCarrier : std::uint8_t {
    http1,  // GET, Upgrade, Connection, Sec-WebSocket-Key; answered 101
    http2,  // extended CONNECT with :protocol websocket, no key; answered 200
};

// Whether `upgrade` (a list of protocols) names websocket.
bool names_websocket(ByteView upgrade);

// Everything but the origin. That Connection names upgrade, and for HTTP/2 the :protocol, is the
// caller's business.
WebSocketRefusal judge_websocket_request(const RequestHead& head, WebSocketCarrier carrier);

inline constexpr std::size_t websocket_key_bytes = 24;
inline constexpr std::size_t websocket_accept_bytes = 28;
using WebSocketKey = std::array<char, websocket_key_bytes>;
using WebSocketAccept = std::array<char, websocket_accept_bytes>;

// Sixteen bytes in base64, in its one spelling.
bool valid_websocket_key(ByteView key);
WebSocketAccept websocket_accept(ByteView key);
WebSocketKey websocket_key(std::span<const unsigned char, 16> random);

// The first of `ours` that the client offers, "" for none. Compared byte by byte.
ByteView choose_subprotocol(const RequestHead& head, std::span<const std::string> ours);

// Whether the value of Origin ("https://a.example:8443") names the requested authority. The
// scheme's own port may be left out on either side.
bool is_same_origin(ByteView origin, ByteView authority, bool secure);

// What a client asks for.
struct WebSocketRequest {
    ByteView authority;  // of Host
    ByteView target = "/";
    ByteView key;
    ByteView origin;  // "" for none
    std::span<const std::string> subprotocols = {};
    ByteView extensions;                       // "" for none
    std::span<const std::string> fields = {};  // more lines, each "Name: value"
};
std::string websocket_request(const WebSocketRequest& request);

struct WebSocketAnswer {
    ParseStatus status;     // refused: not a WebSocket's answer, and `why` says what is wrong
    std::size_t bytes = 0;  // of the head, when complete
    int http_status = 0;    // as far as it was read
    ByteView subprotocol;   // views into the bytes
    ByteView extensions;
    std::string_view why;
};
inline constexpr std::size_t websocket_answer_bytes_max = 16 * 1024;
// The answer's head, at the front of `data`, to the request with `key` and `offered` subprotocols.
WebSocketAnswer parse_websocket_answer(ByteView data, ByteView key,
                                       std::span<const std::string> offered);

}  // namespace tiderace::http::wire

// WebSocket's opening handshake: an offer of permessage-deflate is declined, or answered with what
// a client that made it takes; an answer's verdict does not depend on where it was cut.
#include <algorithm>
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/websocket/deflate.h"
#include "tiderace/http/wire/websocket/handshake.h"

namespace tiderace::http::wire {
namespace {

constexpr ByteView key = "dGhlIHNhbXBsZSBub25jZQ==";

void offer(ByteView value) {
    if (!is_field_value(value)) return;
    RequestHead head;
    head.clear();
    head.add_field("Sec-WebSocket-Extensions", value);
    head.add_field("Sec-WebSocket-Protocol", value);
    const DeflateWishes all{.server_context_takeover = true, .client_context_takeover = true};
    for (const DeflateWishes& ours : {DeflateWishes{}, all}) {
        const auto terms = agree_on_deflate(head, ours);
        if (!terms) continue;
        TR_CHECK(terms->server_max_window_bits >= 9 && terms->server_max_window_bits <= 15);
        TR_CHECK(terms->client_max_window_bits >= 8 && terms->client_max_window_bits <= 15);
        const std::string text = format_deflate_terms(*terms);
        // Eight bits are for the other side to write: we could not.
        const auto taken = accept_deflate_answer(text, all);
        TR_CHECK(taken.has_value() == (terms->client_max_window_bits > 8));
        TR_CHECK(!taken || *taken == *terms);
    }
    const std::vector<std::string> ours = {"a", "chat"};
    const ByteView chosen = choose_subprotocol(head, ours);
    TR_CHECK(chosen.empty() || value.find(chosen) != ByteView::npos);
    (void)judge_websocket_request(head, WebSocketCarrier::http1);
    (void)is_same_origin(value, "a.example", true);
}

void answer(ByteView bytes) {
    const std::vector<std::string> offered = {"chat"};
    const WebSocketAnswer whole = parse_websocket_answer(bytes, key, offered);
    for (std::size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 64) {
        const WebSocketAnswer part = parse_websocket_answer(bytes.substr(0, cut), key, offered);
        if (part.status == ParseStatus::complete) {
            TR_CHECK(whole.status == ParseStatus::complete && whole.bytes == part.bytes);
        } else if (part.status == ParseStatus::refused) {
            TR_CHECK(whole.status == ParseStatus::refused);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(input), std::min<std::size_t>(size, 2'048));
    offer(bytes);
    answer(bytes);
    TR_CHECK(!valid_websocket_key(bytes) || bytes.size() == websocket_key_bytes);
    return 0;
}

}  // namespace tiderace::http::wire

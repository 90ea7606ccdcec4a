#include "tiderace/http/wire/websocket/handshake.h"

#include <algorithm>

#include "tiderace/base/base64.h"
#include "tiderace/base/check.h"
#include "tiderace/base/sha1.h"
#include "tiderace/http/wire/field_line.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

// RFC 6455, 1.3.
constexpr ByteView accept_suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

// The elements of a list in all fields of that name: each a token, none twice.
bool is_list_of_different_tokens(const RequestHead& head, FieldName name) {
    // Each is compared with all before it, so their number is bounded.
    constexpr std::size_t elements_max = 64;
    std::array<ByteView, elements_max> seen;
    std::size_t count = 0;
    for (const Field* field = head.find(name); field != nullptr; field = head.next(*field)) {
        ListReader list(field->value);
        while (list.next()) {
            const auto end = seen.begin() + static_cast<std::ptrdiff_t>(count);
            if (!is_token(list.element()) || count == elements_max ||
                std::find(seen.begin(), end, list.element()) != end) {
                return false;
            }
            seen[count++] = list.element();
        }
        if (list.malformed() || list.had_empty()) return false;
    }
    return count > 0;
}

bool offers(const RequestHead& head, ByteView subprotocol) {
    for (const Field* field = head.find(FieldName::sec_websocket_protocol); field != nullptr;
         field = head.next(*field)) {
        ListReader list(field->value);
        while (list.next()) {
            if (list.element() == subprotocol) return true;
        }
    }
    return false;
}

bool asks_in_http1(const RequestHead& head) {
    for (const Field* field = head.find(FieldName::upgrade); field != nullptr;
         field = head.next(*field)) {
        if (names_websocket(field->value)) return true;
    }
    return false;
}

ByteView without_port(ByteView authority, ByteView port) {
    if (authority.ends_with(port)) authority.remove_suffix(port.size());
    return authority;
}

}  // namespace

int status_for(WebSocketRefusal refusal) {
    switch (refusal) {
        case WebSocketRefusal::none:
            return 101;
        case WebSocketRefusal::not_asked_for:
        // A bad version gets 426 as well, with the version that we speak (RFC 6455, 4.2.2).
        case WebSocketRefusal::bad_version:
            return 426;
        case WebSocketRefusal::bad_origin:
            return 403;
        default:
            return 400;
    }
}

std::string_view to_string(WebSocketRefusal refusal) {
    switch (refusal) {
        case WebSocketRefusal::none:
            return "none";
        case WebSocketRefusal::not_asked_for:
            return "This address speaks WebSocket: ask for an upgrade to it.";
        case WebSocketRefusal::bad_method:
            return "A WebSocket is opened with GET.";
        case WebSocketRefusal::bad_version:
            return "Only version 13 of the WebSocket protocol is spoken here.";
        case WebSocketRefusal::bad_key:
            return "Sec-WebSocket-Key must be sixteen bytes in base64, once.";
        case WebSocketRefusal::bad_protocols:
            return "Sec-WebSocket-Protocol must be a list of different tokens.";
        case WebSocketRefusal::bad_origin:
            return "Pages of this origin may not open a WebSocket here.";
    }
    return "";
}

bool names_websocket(ByteView upgrade) {
    ListReader list(upgrade);
    while (list.next()) {
        if (equals_ignoring_case(list.element(), "websocket")) return true;
    }
    return false;
}

WebSocketRefusal judge_websocket_request(const RequestHead& head, WebSocketCarrier carrier) {
    const bool http1 = carrier == WebSocketCarrier::http1;
    if (http1) {
        if (!asks_in_http1(head)) return WebSocketRefusal::not_asked_for;
        // Over HTTP/2 the method is CONNECT, and :protocol names the wish (RFC 8441, 4); the
        // stream's own start stands for the key.
        if (head.method() != Method::get || head.version_minor() < 1) {
            return WebSocketRefusal::bad_method;
        }
    }
    const Field* version = head.find(FieldName::sec_websocket_version);
    if (version == nullptr || version->value != "13" ||
        head.repeated(FieldName::sec_websocket_version)) {
        return WebSocketRefusal::bad_version;
    }
    if (http1) {
        const Field* key = head.find(FieldName::sec_websocket_key);
        if (key == nullptr || head.repeated(FieldName::sec_websocket_key) ||
            !valid_websocket_key(key->value)) {
            return WebSocketRefusal::bad_key;
        }
    }
    if (head.has(FieldName::sec_websocket_protocol) &&
        !is_list_of_different_tokens(head, FieldName::sec_websocket_protocol)) {
        return WebSocketRefusal::bad_protocols;
    }
    return WebSocketRefusal::none;
}

// 16 bytes in base64: 22 letters and two "=".
bool valid_websocket_key(ByteView key) {
    if (key.size() != websocket_key_bytes || !key.ends_with("==")) return false;
    const ByteView letters = key.substr(0, 22);
    // The last letter carries two bits only; another spelling of the same bytes is not base64.
    return std::ranges::all_of(letters, [](char c) { return base64_value(c) >= 0; }) &&
           base64_value(letters.back()) % 16 == 0;
}

// Proves that the server read this request as a WebSocket's: no cache and no other server makes
// this value. SHA-1 is no weakness here, because nothing secret rests on it.
WebSocketAccept websocket_accept(ByteView key) {
    TR_CHECK(key.size() == websocket_key_bytes, "judge the request first");
    std::array<char, websocket_key_bytes + accept_suffix.size()> both;
    std::ranges::copy(accept_suffix, std::ranges::copy(key, both.begin()).out);
    WebSocketAccept accept;
    write_base64(sha1({both.data(), both.size()}), accept.data());
    return accept;
}

WebSocketKey websocket_key(std::span<const unsigned char, 16> random) {
    WebSocketKey key;
    write_base64(random, key.data());
    return key;
}

ByteView choose_subprotocol(const RequestHead& head, std::span<const std::string> ours) {
    for (const std::string& one : ours) {
        // In the server's order: RFC 6455, 4.2.2, leaves the choice to it.
        if (offers(head, one)) return one;
    }
    return {};
}

// Browsers let every page open a WebSocket to every server, with its cookies. The server has to
// look at the Origin to keep other sites out (RFC 6455, 10.2).
bool is_same_origin(ByteView origin, ByteView authority, bool secure) {
    const ByteView scheme = secure ? "https://" : "http://";
    const ByteView port = secure ? ":443" : ":80";
    if (origin.size() <= scheme.size() || !starts_with_ignoring_case(origin, scheme)) {
        return false;
    }
    origin.remove_prefix(scheme.size());
    return !authority.empty() &&
           equals_ignoring_case(without_port(origin, port), without_port(authority, port));
}

std::string websocket_request(const WebSocketRequest& request) {
    std::string text = "GET ";
    text.append(request.target).append(" HTTP/1.1\r\nHost: ").append(request.authority);
    text.append("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ");
    text.append(request.key).append("\r\nSec-WebSocket-Version: 13\r\n");
    if (!request.origin.empty()) text.append("Origin: ").append(request.origin).append("\r\n");
    for (std::size_t i = 0; i < request.subprotocols.size(); ++i) {
        text.append(i == 0 ? "Sec-WebSocket-Protocol: " : ", ").append(request.subprotocols[i]);
    }
    if (!request.subprotocols.empty()) text.append("\r\n");
    if (!request.extensions.empty()) {
        text.append("Sec-WebSocket-Extensions: ").append(request.extensions).append("\r\n");
    }
    for (const std::string& field : request.fields) text.append(field).append("\r\n");
    return text.append("\r\n");
}

namespace {

// What is wrong with the fields of an answer, "" for nothing.
struct AnswerFields {
    ByteView accept, upgrade, connection, subprotocol, extensions;
    std::array<const ByteView*, 5> seen{};  // of those; a value may be empty
    bool twice = false;

    void take(FieldName name, ByteView value) {
        ByteView* into = name == FieldName::sec_websocket_accept       ? &accept
                         : name == FieldName::upgrade                  ? &upgrade
                         : name == FieldName::connection               ? &connection
                         : name == FieldName::sec_websocket_protocol   ? &subprotocol
                         : name == FieldName::sec_websocket_extensions ? &extensions
                                                                       : nullptr;
        if (into == nullptr) return;
        // Two of one field would let us and a proxy read different ones.
        twice |= std::ranges::find(seen, into) != seen.end();
        if (!twice) *std::ranges::find(seen, nullptr) = into;
        *into = value;
    }
};

bool has_option(ByteView list_text, ByteView wanted) {
    ListReader list(list_text);
    while (list.next()) {
        if (equals_ignoring_case(list.element(), wanted)) return true;
    }
    return false;
}

std::string_view judge_answer(const AnswerFields& fields, ByteView key,
                              std::span<const std::string> offered) {
    const WebSocketAccept accept = websocket_accept(key);
    if (fields.twice) return "a field of the handshake came twice";
    if (!equals_ignoring_case(fields.upgrade, "websocket")) return "Upgrade is not websocket";
    if (!has_option(fields.connection, "upgrade")) return "Connection does not say upgrade";
    if (fields.accept != ByteView(accept.data(), accept.size())) {
        return "Sec-WebSocket-Accept does not answer our key";
    }
    if (!fields.subprotocol.empty() &&
        std::ranges::find(offered, fields.subprotocol) == offered.end()) {
        return "a subprotocol that was not offered";
    }
    return {};
}

WebSocketAnswer no_answer(ParseStatus status, std::string_view why, int http_status = 0) {
    return {.status = status, .http_status = http_status, .why = why};
}

}  // namespace

WebSocketAnswer parse_websocket_answer(ByteView data, ByteView key,
                                       std::span<const std::string> offered) {
    constexpr ByteView version = "HTTP/1.1 ";
    const std::size_t line_end = data.find("\r\n");
    if (line_end == ByteView::npos) {
        const bool hopeless = data.size() > websocket_answer_bytes_max ||
                              !version.starts_with(data.substr(0, version.size()));
        return hopeless ? no_answer(ParseStatus::refused, "not an HTTP/1.1 answer")
                        : no_answer(ParseStatus::need_more, {});
    }
    const ByteView line = data.substr(0, line_end);
    if (!line.starts_with(version) || line.size() < 12 || (line.size() > 12 && line[12] != ' ') ||
        !std::ranges::all_of(line.substr(9, 3), [](char c) { return is_digit(c); })) {
        return no_answer(ParseStatus::refused, "not an HTTP/1.1 answer");
    }
    const int status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
    // The rest of the head is not read: only the status matters to the caller.
    if (status != 101) return no_answer(ParseStatus::refused, "the answer is not 101", status);
    AnswerFields fields;
    std::size_t at = line_end + 2;
    while (!data.substr(at).starts_with("\r\n")) {
        const FieldLine field = parse_field_line(data, at);
        const bool cut_off = field.status == ParseStatus::need_more || data.substr(at) == "\r";
        if (cut_off && data.size() <= websocket_answer_bytes_max) {
            return no_answer(ParseStatus::need_more, {}, status);
        }
        if (field.status != ParseStatus::complete || field.end > websocket_answer_bytes_max) {
            return no_answer(ParseStatus::refused, "a malformed or endless head", status);
        }
        fields.take(intern_field_name(field.name), field.value);
        at = field.end;
    }
    if (const std::string_view why = judge_answer(fields, key, offered); !why.empty()) {
        return no_answer(ParseStatus::refused, why, status);
    }
    return {.status = ParseStatus::complete,
            .bytes = at + 2,
            .http_status = status,
            .subprotocol = fields.subprotocol,
            .extensions = fields.extensions,
            .why = {}};
}

}  // namespace tiderace::http::wire

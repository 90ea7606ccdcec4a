// Internal. Request: what a handler sees of a request, the same for every version of HTTP.
//
// Owner    The Exchange. The views point into the receive buffer until the handler returns, and
//          into the Exchange's own copy after that: read it again instead of keeping a view across
//          a return. `peer` and `security` live as long as the Exchange.
// Thread   The loop's.
#pragma once

#include "tiderace/base/bytes.h"
#include "tiderace/base/slot_map.h"
#include "tiderace/core/address.h"
#include "tiderace/http/request_id.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/method.h"
#include "tiderace/http/wire/request_head.h"
#include "tiderace/log/trace_context.h"

namespace tiderace::net {
struct TransportSecurity;
}

namespace tiderace::http {

struct Request {
    static constexpr std::size_t id_bytes_max = 64;

    const wire::RequestHead* head = nullptr;
    // The connection's, or the client's behind a trusted proxy (filter/trusted_proxies.h).
    const core::Address* peer = nullptr;
    // The same for all requests of one connection, and for no other's of its server; none: unknown.
    SlotId connection;
    ByteView authority;  // of the target or of Host; "" only for HTTP/1.0
    // The one canonical path (wire/canonical_path.h): decoded once, no dot segments, no "//".
    // Matching, access rules and file opening see this and nothing else. "*" for OPTIONS *.
    ByteView path;
    ByteView raw_path;  // as it came, for redirects and logs
    ByteView query;     // without the "?"
    bool has_query = false;
    // The :protocol of an extended CONNECT (RFC 8441): "websocket". Then the method is CONNECT and
    // the rest is as with GET.
    ByteView protocol;
    HttpVersion version = HttpVersion::http_1_1;
    bool secure = false;                               // over TLS, to us or to a trusted proxy
    const net::TransportSecurity* security = nullptr;  // of the connection, where that is secure

    bool trusts_id = false;  // that it was sent with
    mutable MadeId made_id = {};

    // Its name in logs: the X-Request-Id or Request-Id of a trusted proxy, if that is 1 to
    // id_bytes_max of letters, digits, "-_."; otherwise made when it is first asked for.
    ByteView id() const;
    // The trace that its traceparent names, or one that begins here. For requests that it causes:
    // ClientRequest::trace().
    log::TraceContext trace() const;

    wire::Method method() const { return head->method(); }
    // "GET" …, or "other": one of a few, whatever was sent. "" before there is a head.
    std::string_view method_name() const;
    bool is_get_or_head() const {
        return method() == wire::Method::get || method() == wire::Method::head;
    }
    // The value of the first header of that name, "" if there is none.
    ByteView header(wire::FieldName name) const {
        const wire::Field* found = head->find(name);
        return found != nullptr ? found->value : ByteView{};
    }
    // … by its name, in any case: `header("Accept-Language")`.
    ByteView header(ByteView name) const {
        const wire::Field* found = head->find(name);
        return found != nullptr ? found->value : ByteView{};
    }
    bool has(wire::FieldName name) const { return head->has(name); }
};

}  // namespace tiderace::http

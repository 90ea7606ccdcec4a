// Internal. Framing: how the body of a request is delimited, and what becomes of the connection
// afterwards (RFC 9112, sections 3.2, 6, 7.4 and 9; RFC 9110, sections 7.2, 7.8 and 10.1.1).
//
// A server that disagrees with another here can be used for request smuggling. So everything that
// two readers could understand differently is refused with 400 and the connection is closed.
//
// Thread   Any: a pure function of the head. A HostMemo only saves time.
// Errors   A Refusal; the other members then say nothing, but keep_alive is false.
// Memory   None.
// Keywords: request smuggling, Content-Length, Transfer-Encoding, 100-continue, Expect
#pragma once

#include <cstdint>

#include "tiderace/http/wire/host.h"
#include "tiderace/http/wire/refusal.h"
#include "tiderace/http/wire/request_head.h"

namespace tiderace::http::wire {

struct RequestFraming {
    enum class Body : std::uint8_t { none, length, chunked };

    Body body = Body::none;
    // A peer's "close" wins over its "keep-alive"; HTTP/1.0 needs "keep-alive" to go on.
    bool keep_alive = false;
    // Expect: 100-continue was sent, with a body to come, by a client of HTTP/1.1.
    bool expect_continue = false;
    // Upgrade was sent and Connection names it (HTTP/1.1 only). The caller may ignore it.
    bool upgrade_requested = false;
    Refusal refusal = Refusal::none;
    std::uint64_t length = 0;  // of the body, when it is Body::length; then > 0
};

// Content-Length: 0 is Body::none. The largest length is 2^63 - 1.
RequestFraming frame_request(const RequestHead& head, HostMemo* hosts = nullptr);

// The parts of it that other versions of HTTP have too.
struct ContentLength {
    std::uint64_t value;
    Refusal refusal;
};
ContentLength parse_content_length(ByteView text);
Refusal judge_expectations(const RequestHead& head);

}  // namespace tiderace::http::wire

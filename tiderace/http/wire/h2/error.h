// Internal. H2Error: the error codes of HTTP/2 (RFC 9113, section 7), and how far a fault reaches
// (5.4).
//
// Thread   Any: pure functions.
// Memory   None.
// Keywords: PROTOCOL_ERROR, RST_STREAM, GOAWAY
#pragma once

#include <cstdint>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace::http::wire {

enum class H2Error : std::uint32_t {
    no_error,
    protocol_error,
    internal_error,
    flow_control_error,
    settings_timeout,
    stream_closed,
    frame_size_error,
    refused_stream,
    cancel,
    compression_error,
    connect_error,
    enhance_your_calm,
    inadequate_security,
    http_1_1_required
};

// A fault of the peer's. At connection scope it is answered with GOAWAY and the end of the
// connection, at stream scope with RST_STREAM of `stream`.
struct H2Fault {
    enum class Scope : std::uint8_t { none, stream, connection };

    Scope scope = Scope::none;
    H2Error error = H2Error::no_error;
    std::uint32_t stream = 0;  // at stream scope

    bool operator==(const H2Fault&) const = default;
};

constexpr H2Fault connection_fault(H2Error error) {
    return {H2Fault::Scope::connection, error, 0};
}
constexpr H2Fault stream_fault(H2Error error, std::uint32_t stream) {
    return {H2Fault::Scope::stream, error, stream};
}

// "PROTOCOL_ERROR", as the RFC writes it; "" for a code that it does not know.
std::string_view to_string(H2Error error);

}  // namespace tiderace::http::wire

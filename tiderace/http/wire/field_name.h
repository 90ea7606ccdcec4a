// Internal. FieldName: the field names that a server looks at, as small numbers; all others are
// `other`. Field: one field of a head.
//
// The parser maps each known name to a number; later code never compares text.
//
// Thread   Any: pure functions of constant tables.
// Errors   A name that is not in the list, of whatever bytes, is `other`.
// Limits   field_names_max names, so that a set of them fits one 64-bit word.
// Memory   None.
// Keywords: header name
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

inline constexpr std::size_t field_names_max = 64;

enum class FieldName : std::uint8_t {
    other = 0,
    host,
    connection,
    content_length,
    transfer_encoding,
    content_type,
    content_encoding,
    expect,
    upgrade,
    te,
    trailer,
    keep_alive,
    accept,
    accept_encoding,
    accept_language,
    user_agent,
    referer,
    cookie,
    authorization,
    origin,
    range,
    if_match,
    if_none_match,
    if_modified_since,
    if_unmodified_since,
    if_range,
    cache_control,
    pragma,
    date,
    forwarded,
    x_forwarded_for,
    x_forwarded_proto,
    x_request_id,
    upgrade_insecure_requests,
    priority,
    http2_settings,
    sec_websocket_key,
    sec_websocket_version,
    sec_websocket_protocol,
    sec_websocket_extensions,
    sec_websocket_accept,
    access_control_request_method,
    access_control_request_headers,
    access_control_allow_origin,
    access_control_allow_methods,
    access_control_allow_headers,
    access_control_max_age,
    server,
    content_range,
    accept_ranges,
    etag,
    last_modified,
    location,
    vary,
    allow,
    set_cookie,
    www_authenticate,
    retry_after,
    expires,
    content_disposition,
    content_language,
    x_content_type_options,
    sec_fetch_site,
    alt_svc
};

// Case-insensitive. One multiplication, one table look-up and two to four word comparisons.
FieldName intern_field_name(ByteView name);

// The canonical spelling, "Content-Length"; "" for `other`.
std::string_view to_string(FieldName name);

// The spelling of HTTP/2, "content-length"; "" for `other`. A constant text.
namespace field_name {
extern const std::array<std::string_view, field_names_max> lower;  // in the order of the enum
}
inline std::string_view to_lower_string(FieldName name) {
    return field_name::lower[static_cast<std::size_t>(name)];
}

// The canonical spelling as the start of a line: "Content-Length: "; "" for `other`.
std::string_view to_line_start(FieldName name);

// Fields that we set ourselves. A handler's own could contradict the framing, and let a proxy see
// another end of the answer than the client (response splitting).
constexpr bool is_framing(FieldName name) {
    switch (name) {
        case FieldName::content_length:
        case FieldName::transfer_encoding:
        case FieldName::connection:
        case FieldName::keep_alive:
        case FieldName::date:
        case FieldName::server:
            return true;
        default:
            return false;
    }
}

struct Field {
    ByteView name;   // as it was sent
    ByteView value;  // without the space around it; may hold bytes above 0x7f
    FieldName id = FieldName::other;
};

}  // namespace tiderace::http::wire

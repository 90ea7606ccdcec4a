// Internal. Refusal: why a request was not taken, the status that answers it, and a sentence for
// its sender. TurnedAway: why a rule did not let it pass. ParseStatus: how far a parser came.
//
// Each of these is the peer's fault, and each ends the connection: after a doubtful frame the start
// of the next request is unknown.
//
// Thread   Any: pure functions of a constant table.
// Memory   None.
// Keywords: 413, 414, 431, 408, 400, 417, 501, 505, bad request
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace::http::wire {

enum class Refusal : std::uint8_t {
    none,
    bare_cr,
    bare_lf,
    nul,
    obs_fold,
    space_before_colon,
    bad_field_name,
    bad_field_value,
    bad_request_line,
    tls_handshake,
    method_too_long,
    bad_target,
    path_above_root,
    path_nul,
    path_control_character,
    path_encoded_slash,
    path_backslash,
    path_bad_escape,
    bad_version,
    unsupported_version,
    target_too_long,
    head_too_large,
    too_many_fields,
    length_and_chunked,
    duplicate_length,
    bad_length,
    length_overflow,
    bad_transfer_coding,
    unknown_transfer_coding,
    missing_host,
    duplicate_host,
    bad_host,
    bad_chunk_size,
    bad_chunk_extension,
    bad_chunk_data,
    chunk_extensions_too_large,
    trailers_too_large,
    bad_trailer,
    body_too_large,
    unknown_expectation,
    bad_pseudo_field,
    connection_field,
    two_hosts,
};

inline constexpr std::size_t refusals = 43;

// A rule of the site has answered in the handler's place, and the connection goes on.
enum class TurnedAway : std::uint8_t {
    no,
    rate,         // the client sends too much
    credentials,  // its password or token is wrong
    count_
};

enum class ParseStatus : std::uint8_t { complete, need_more, refused };

// 400, 413, 414, 417, 431, 501 or 505; 0 for `none`.
int status_of(Refusal refusal);

// The refusal for a byte that may not stand where it stands: NUL and LF have refusals of their own.
constexpr Refusal refusal_for(char c, Refusal otherwise) {
    if (c == '\0') return Refusal::nul;
    return c == '\n' ? Refusal::bare_lf : otherwise;
}

// One sentence that the developer of the client can act on; "" for `none`.
std::string_view explain(Refusal refusal);

// "bare_cr": for counters and logs.
std::string_view to_string(Refusal refusal);

}  // namespace tiderace::http::wire

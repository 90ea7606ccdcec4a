#include "tiderace/http/wire/refusal.h"

#include <array>

namespace tiderace::http::wire {
namespace {

struct Row {
    Refusal refusal;
    int status;
    std::string_view name;
    std::string_view explanation;
};

// In the order of the enum, which the assertion below checks.
constexpr auto rows = std::to_array<Row>({
    {Refusal::none, 0, "none", ""},
    {Refusal::bare_cr, 400, "bare_cr",
     "A carriage return stands without a line feed after it; end lines with CR LF."},
    {Refusal::bare_lf, 400, "bare_lf",
     "A line feed stands without a carriage return before it; end lines with CR LF."},
    {Refusal::nul, 400, "nul", "The request head holds a NUL byte; none may stand there."},
    {Refusal::obs_fold, 400, "obs_fold",
     "A line of the head begins with a space or tab; put each field on one line."},
    {Refusal::space_before_colon, 400, "space_before_colon",
     "A space or tab stands between a field name and its colon; remove it."},
    {Refusal::bad_field_name, 400, "bad_field_name",
     "A field name is empty, lacks its colon, or holds a byte that no name may hold."},
    {Refusal::bad_field_value, 400, "bad_field_value",
     "A field value holds a control character; remove or encode it."},
    {Refusal::bad_request_line, 400, "bad_request_line",
     "The request line is not 'METHOD target HTTP/1.1' with single spaces."},
    {Refusal::tls_handshake, 400, "tls_handshake",
     "This port speaks plain HTTP and was sent a TLS handshake; use http:// here."},
    {Refusal::method_too_long, 501, "method_too_long",
     "The method is longer than any that is known."},
    {Refusal::bad_target, 400, "bad_target",
     "The request target is not a path, an http URL, an authority for CONNECT or '*' for OPTIONS; "
     "percent-encode spaces and other bytes that no URL may hold, and send no fragment."},
    {Refusal::path_above_root, 400, "path_above_root",
     "The path climbs above the root, by a '..' too many."},
    {Refusal::path_nul, 400, "path_nul", "The path holds a NUL (%00); no file's name does."},
    {Refusal::path_control_character, 400, "path_control_character",
     "The path holds a control character (%01 to %1F, or %7F), which is not taken here."},
    {Refusal::path_encoded_slash, 400, "path_encoded_slash",
     "The path holds an encoded slash (%2F), which some would read as '/' and some as a name."},
    {Refusal::path_backslash, 400, "path_backslash",
     "The path holds a backslash (%5C), which some would read as '/'; separate by '/'."},
    {Refusal::path_bad_escape, 400, "path_bad_escape",
     "The path holds a '%' without two hexadecimal digits, or UTF-8 that is longer than need be."},
    {Refusal::bad_version, 400, "bad_version",
     "The request line does not end with a version such as HTTP/1.1."},
    {Refusal::unsupported_version, 505, "unsupported_version",
     "This server speaks HTTP/1.1 and HTTP/1.0 on this connection."},
    {Refusal::target_too_long, 414, "target_too_long",
     "The request line is longer than this server takes; send large data in the body."},
    {Refusal::head_too_large, 431, "head_too_large",
     "The request head is larger than this server takes; send fewer or smaller fields (cookies?)."},
    {Refusal::too_many_fields, 431, "too_many_fields",
     "The request has more fields than this server takes."},
    {Refusal::length_and_chunked, 400, "length_and_chunked",
     "Content-Length and Transfer-Encoding were both sent; send one of them."},
    {Refusal::duplicate_length, 400, "duplicate_length",
     "Content-Length was sent more than once; send it once."},
    {Refusal::bad_length, 400, "bad_length",
     "Content-Length is not a plain decimal number without sign, space or leading zero."},
    {Refusal::length_overflow, 400, "length_overflow",
     "Content-Length is larger than any body can be."},
    {Refusal::bad_transfer_coding, 400, "bad_transfer_coding",
     "Transfer-Encoding does not end with one single 'chunked', or came with HTTP/1.0."},
    {Refusal::unknown_transfer_coding, 501, "unknown_transfer_coding",
     "The only transfer coding that this server takes is 'chunked'."},
    {Refusal::missing_host, 400, "missing_host", "HTTP/1.1 needs a Host field; send one."},
    {Refusal::duplicate_host, 400, "duplicate_host", "Host was sent more than once; send it once."},
    {Refusal::bad_host, 400, "bad_host",
     "Host is not a name, an IPv4 address or an [IPv6] address with an optional port."},
    {Refusal::bad_chunk_size, 400, "bad_chunk_size",
     "A chunk size is not a plain hexadecimal number, or is larger than any chunk can be."},
    {Refusal::bad_chunk_extension, 400, "bad_chunk_extension",
     "A chunk extension is not of the form ;name or ;name=value."},
    {Refusal::bad_chunk_data, 400, "bad_chunk_data",
     "The data of a chunk is not followed by CR LF: the size and the data disagree."},
    {Refusal::chunk_extensions_too_large, 400, "chunk_extensions_too_large",
     "The chunk extensions are larger than this server takes."},
    {Refusal::trailers_too_large, 431, "trailers_too_large",
     "The trailer section is larger than this server takes."},
    {Refusal::bad_trailer, 400, "bad_trailer",
     "A trailer names a field that frames or routes the request; send it in the head."},
    {Refusal::body_too_large, 413, "body_too_large",
     "The request body is larger than this server takes."},
    {Refusal::unknown_expectation, 417, "unknown_expectation",
     "The only expectation that this server meets is 100-continue."},
    {Refusal::bad_pseudo_field, 400, "bad_pseudo_field",
     "A pseudo field (:method, :path …) is missing, unknown, empty, repeated, or behind another "
     "field."},
    {Refusal::connection_field, 400, "connection_field",
     "HTTP/2 has no fields about a connection (Connection, Transfer-Encoding, Upgrade, TE but "
     "'trailers' …); leave them out."},
    {Refusal::two_hosts, 400, "two_hosts",
     "Host and :authority name different hosts; send :authority alone."},
});

constexpr bool in_order() {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (static_cast<std::size_t>(rows[i].refusal) != i) return false;
    }
    return true;
}
static_assert(rows.size() == refusals && in_order());

const Row& row_of(Refusal refusal) {
    return rows[static_cast<std::size_t>(refusal)];
}

}  // namespace

int status_of(Refusal refusal) {
    return row_of(refusal).status;
}
std::string_view explain(Refusal refusal) {
    return row_of(refusal).explanation;
}
std::string_view to_string(Refusal refusal) {
    return row_of(refusal).name;
}

}  // namespace tiderace::http::wire

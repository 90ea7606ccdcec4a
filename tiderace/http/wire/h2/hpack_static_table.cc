#include "tiderace/http/wire/h2/hpack_static_table.h"

#include <array>

namespace tiderace::http::wire::hpack_static {
namespace {

constexpr HpackField pseudo(PseudoField which, ByteView name, ByteView value = {}) {
    return {name, value, FieldName::other, which, Refusal::none, false};
}
constexpr HpackField field(ByteView name, FieldName id = FieldName::other, ByteView value = {}) {
    return {name, value, id, PseudoField::none, Refusal::none, false};
}

// RFC 7541, appendix A, in its order: the place is the index on the wire.
constexpr auto rows = std::to_array<HpackField>({
    pseudo(PseudoField::authority, ":authority"),
    pseudo(PseudoField::method, ":method", "GET"),
    pseudo(PseudoField::method, ":method", "POST"),
    pseudo(PseudoField::path, ":path", "/"),
    pseudo(PseudoField::path, ":path", "/index.html"),
    pseudo(PseudoField::scheme, ":scheme", "http"),
    pseudo(PseudoField::scheme, ":scheme", "https"),
    pseudo(PseudoField::status, ":status", "200"),
    pseudo(PseudoField::status, ":status", "204"),
    pseudo(PseudoField::status, ":status", "206"),
    pseudo(PseudoField::status, ":status", "304"),
    pseudo(PseudoField::status, ":status", "400"),
    pseudo(PseudoField::status, ":status", "404"),
    pseudo(PseudoField::status, ":status", "500"),
    field("accept-charset"),
    field("accept-encoding", FieldName::accept_encoding, "gzip, deflate"),
    field("accept-language", FieldName::accept_language),
    field("accept-ranges", FieldName::accept_ranges),
    field("accept", FieldName::accept),
    field("access-control-allow-origin", FieldName::access_control_allow_origin),
    field("age"),
    field("allow", FieldName::allow),
    field("authorization", FieldName::authorization),
    field("cache-control", FieldName::cache_control),
    field("content-disposition", FieldName::content_disposition),
    field("content-encoding", FieldName::content_encoding),
    field("content-language", FieldName::content_language),
    field("content-length", FieldName::content_length),
    field("content-location"),
    field("content-range", FieldName::content_range),
    field("content-type", FieldName::content_type),
    field("cookie", FieldName::cookie),
    field("date", FieldName::date),
    field("etag", FieldName::etag),
    field("expect", FieldName::expect),
    field("expires", FieldName::expires),
    field("from"),
    field("host", FieldName::host),
    field("if-match", FieldName::if_match),
    field("if-modified-since", FieldName::if_modified_since),
    field("if-none-match", FieldName::if_none_match),
    field("if-range", FieldName::if_range),
    field("if-unmodified-since", FieldName::if_unmodified_since),
    field("last-modified", FieldName::last_modified),
    field("link"),
    field("location", FieldName::location),
    field("max-forwards"),
    field("proxy-authenticate"),
    field("proxy-authorization"),
    field("range", FieldName::range),
    field("referer", FieldName::referer),
    field("refresh"),
    field("retry-after", FieldName::retry_after),
    field("server", FieldName::server),
    field("set-cookie", FieldName::set_cookie),
    field("strict-transport-security"),
    field("transfer-encoding", FieldName::transfer_encoding),
    field("user-agent", FieldName::user_agent),
    field("vary", FieldName::vary),
    field("via"),
    field("www-authenticate", FieldName::www_authenticate),
});
static_assert(rows.size() == entries);
static_assert(rows[status_index - 1].pseudo == PseudoField::status);

constexpr std::array<std::uint8_t, field_names_max> make_indexes() {
    std::array<std::uint8_t, field_names_max> indexes{};
    // Backwards, so that the first of several rows with the same name stays.
    for (std::size_t at = rows.size(); at > 0; --at) {
        const HpackField& row = rows[at - 1];
        if (row.id == FieldName::other) continue;
        indexes[static_cast<std::size_t>(row.id)] = static_cast<std::uint8_t>(at);
    }
    return indexes;
}
constexpr std::array<std::uint8_t, field_names_max> indexes = make_indexes();

}  // namespace

constexpr std::array<HpackField, entries> table = rows;

std::uint32_t index_of(FieldName name) {
    return indexes[static_cast<std::size_t>(name)];
}

std::uint32_t index_of_status(int code) {
    switch (code) {
        case 200:
            return 8;
        case 204:
            return 9;
        case 206:
            return 10;
        case 304:
            return 11;
        case 400:
            return 12;
        case 404:
            return 13;
        case 500:
            return 14;
        default:
            return 0;
    }
}

}  // namespace tiderace::http::wire::hpack_static

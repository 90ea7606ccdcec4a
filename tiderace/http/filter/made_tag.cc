#include "tiderace/http/filter/made_tag.h"

#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/conditional.h"

namespace tiderace::http::filter {
namespace {

// Constant keys: the same bytes have the same tag on every loop and after a restart.
std::uint64_t hash_of(ByteView bytes, std::uint64_t which) {
    return sip_hash<1, 3>(bytes, {.first = which, .second = 0x746964657261});
}

}  // namespace

void MadeTag::filter(Exchange& exchange, Response& response) {
    const Request& request = exchange.request();
    const ByteView body = response.copied_body();
    if (!request.is_get_or_head() || response.status() != 200 || body.empty() ||
        body.size() > body_bytes_max || response.find(wire::FieldName::etag)) {
        return;
    }
    wire::FixedText<40> text;
    // Weak, because compression behind this filter changes the bytes.
    text.add("W/\"").add_number(hash_of(body, 1), 16).add_number(hash_of(body, 2), 16).add("\"");
    const ByteView tag = response.keep(text.view());
    response.set(wire::FieldName::etag, tag);
    const ByteView known = request.header(wire::FieldName::if_none_match);
    if (!known.empty() &&
        wire::tag_list_matches(known, wire::parse_entity_tag(tag), wire::TagCompare::weak)) {
        response.set_status(304);
        response.drop_body();
    }
}

}  // namespace tiderace::http::filter

#include "tiderace/http/wire/mime.h"

#include <algorithm>
#include <array>

#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/mime_table.h"

namespace tiderace::http::wire {
namespace {

using Extension = FixedText<MimeTable::extension_bytes_max>;

// Empty when there is none, or one longer than any in the table.
Extension extension_of(ByteView path) {
    Extension lower;
    const std::size_t slash = path.rfind('/');
    const ByteView name = slash == ByteView::npos ? path : path.substr(slash + 1);
    const std::size_t dot = name.rfind('.');
    // ".profile" is a hidden file without an extension.
    if (dot == ByteView::npos || dot == 0) return lower;
    const ByteView extension = name.substr(dot + 1);
    if (extension.size() > MimeTable::extension_bytes_max) return lower;
    for (const char c : extension) {
        const char folded = to_lower(c);
        lower.add(ByteView(&folded, 1));
    }
    return lower;
}

constexpr ByteView unknown_type = "application/octet-stream";

// "type/subtype", then what a field value may hold.
bool is_type(ByteView type) {
    if (type.size() > MimeTable::type_bytes_max || !is_field_value(type)) return false;
    const ByteView essence = trim_ows(type.substr(0, type.find(';')));
    const std::size_t slash = essence.find('/');
    return slash != ByteView::npos && is_token(essence.substr(0, slash)) &&
           is_token(essence.substr(slash + 1)) && type == trim_ows(type);
}

constexpr std::array<ByteView, 33> compressible_types = {
    "application/cbor",
    "application/ecmascript",
    "application/javascript",
    "application/json",
    "application/json5",
    "application/mbox",
    "application/n-quads",
    "application/n-triples",
    "application/postscript",
    "application/protobuf",
    "application/rtf",
    "application/sparql-query",
    "application/toml",
    "application/trig",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-ns-proxy-autoconfig",
    "application/x-pem-file",
    "application/x-sh",
    "application/x-tar",
    "application/xml",
    "application/xml-dtd",
    "application/yaml",
    "audio/mpegurl",
    "font/collection",
    "font/otf",
    "font/ttf",
    "image/bmp",
    "image/x-icon",
    "message/rfc822",
};

}  // namespace

bool MimeTable::add(ByteView extension, ByteView type) {
    if (extension.starts_with('.')) extension.remove_prefix(1);
    if (extension.empty() || extension.size() > extension_bytes_max || !is_type(type)) return false;
    // Lookups take what follows the last dot of the last segment, so it would never be found.
    if (extension.find_first_of("./") != ByteView::npos) return false;
    std::string lower = lower_case(extension);
    const auto at = std::ranges::lower_bound(additions_, lower, {}, &Addition::extension);
    if (at != additions_.end() && at->extension == lower) {
        at->type = type;
    } else {
        additions_.insert(at, {std::move(lower), std::string(type)});
    }
    return true;
}

ByteView MimeTable::type_of(ByteView path) const {
    const Extension lower = extension_of(path);
    const ByteView extension = lower.view();
    if (extension.empty()) return unknown_type;
    const auto added = std::ranges::lower_bound(additions_, extension, {}, &Addition::extension);
    if (added != additions_.end() && added->extension == extension) return added->type;
    const auto table = builtin_mime_types();
    const auto known = std::ranges::lower_bound(table, extension, {}, &MimeEntry::extension);
    if (known != table.end() && known->extension == extension) return known->type;
    return unknown_type;
}

bool compressible(ByteView type) {
    const ByteView essence = trim_ows(type.substr(0, type.find(';')));
    // An encoder would hold events back until it has enough to compress.
    if (starts_with_ignoring_case(essence, "text/"))
        return !equals_ignoring_case(essence, "text/event-stream");
    if (ends_with_ignoring_case(essence, "+json") || ends_with_ignoring_case(essence, "+xml"))
        return true;
    if (starts_with_ignoring_case(essence, "model/"))
        return !ends_with_ignoring_case(essence, "+zip");
    return std::ranges::any_of(
        compressible_types, [&](ByteView known) { return equals_ignoring_case(known, essence); });
}

bool is_stored_as_gzip(ByteView path, ByteView type) {
    return ends_with_ignoring_case(path, ".svgz") &&
           starts_with_ignoring_case(type, "image/svg+xml");
}

}  // namespace tiderace::http::wire

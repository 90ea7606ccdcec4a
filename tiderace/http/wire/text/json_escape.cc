#include "tiderace/http/wire/text/json_escape.h"

#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/text/append_escaped.h"

namespace tiderace::http::wire {
namespace {

// Angle brackets are valid in JSON; escaped, they stay text where a page or a guessing client takes
// the answer for HTML.
bool is_plain_in_json(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>';
}

bool append_ascii_to_json(BoundedText& out, char c) {
    switch (c) {
        case '"':
            return out.append("\\\"");
        case '\\':
            return out.append("\\\\");
        case '\b':
            return out.append("\\b");
        case '\f':
            return out.append("\\f");
        case '\n':
            return out.append("\\n");
        case '\r':
            return out.append("\\r");
        case '\t':
            return out.append("\\t");
        default:
            break;
    }
    const char escape[] = {'\\', 'u', '0', '0', hex_digits[c >> 4 & 15], hex_digits[c & 15]};
    return out.append(ByteView(escape, sizeof escape));
}

bool append_char_to_json(BoundedText& out, ByteView bytes, const Utf8Char& read) {
    if (!read.valid) return out.append(utf8_replacement);
    if (read.code < 0x80) return append_ascii_to_json(out, bytes[0]);
    // JSON allows both raw; JavaScript before ES2019 did not allow them in a string.
    if (read.code == 0x2028) return out.append("\\u2028");
    if (read.code == 0x2029) return out.append("\\u2029");
    return out.append(bytes);
}

}  // namespace

bool append_json(BoundedText& out, ByteView text) {
    return append_escaped(out, text, is_plain_in_json, append_char_to_json);
}

std::string json_text(ByteView text) {
    std::string made;
    append_bounded(made, text.size() * json_growth_max,
                   [&](BoundedText& out) { append_json(out, text); });
    return made;
}

}  // namespace tiderace::http::wire

#include "tiderace/http/wire/text/html_escape.h"

#include "tiderace/http/wire/text/append_escaped.h"

namespace tiderace::http::wire {
namespace {

bool is_plain_in_html(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7F && c != '&' && c != '<' && c != '>' && c != '"' && c != '\'';
}

// Characters that turn or isolate the direction of what stands around them, and their marks.
bool turns_text(char32_t code) {
    return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0x200E || code == 0x200F || code == 0x061C;
}

bool append_ascii_to_html(BoundedText& out, char c) {
    switch (c) {
        case '&':
            return out.append("&amp;");
        case '<':
            return out.append("&lt;");
        case '>':
            return out.append("&gt;");
        case '"':
            return out.append("&quot;");
        case '\'':
            return out.append("&#39;");
        default:
            break;
    }
    // U+2400 to U+241F are the pictures of 0x00 to 0x1F; U+2421 is the picture of DEL.
    const char picture[] = {'\xE2', '\x90', static_cast<char>(c == 0x7F ? 0xA1 : 0x80 + c)};
    return out.append(ByteView(picture, sizeof picture));
}

bool append_char_to_html(BoundedText& out, ByteView bytes, const Utf8Char& read) {
    if (read.code < 0x80) return append_ascii_to_html(out, bytes[0]);
    const bool c1_control = read.code < 0xA0;
    // A name of a file with U+202E would show another extension than it has.
    if (!read.valid || c1_control || turns_text(read.code)) return out.append(utf8_replacement);
    return out.append(bytes);
}

}  // namespace

bool append_html(BoundedText& out, ByteView text) {
    return append_escaped(out, text, is_plain_in_html, append_char_to_html);
}

std::string html_text(ByteView text) {
    std::string made;
    append_bounded(made, text.size() * html_growth_max,
                   [&](BoundedText& out) { append_html(out, text); });
    return made;
}

}  // namespace tiderace::http::wire

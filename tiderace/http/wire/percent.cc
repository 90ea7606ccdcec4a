#include "tiderace/http/wire/percent.h"

namespace tiderace::http::wire {
namespace {

// pchar of RFC 3986 without '&' and the single quote, which mean something to HTML: a link made
// here is also safe inside an attribute.
bool stands_for_itself(char c) {
    return (is(host_byte, c) && c != '&' && c != '\'') || c == ':' || c == '@';
}

template <typename Stays>
bool append_encoded(BoundedText& out, ByteView text, Stays stays) {
    const std::size_t start = out.size();
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (!(stays(at) ? out.append(text[at]) : append_escape(out, text[at]))) {
            out.shrink_to(start);
            return false;
        }
    }
    return true;
}

}  // namespace

bool append_escape(BoundedText& out, char c) {
    const std::array escape = percent_escape(c);
    return out.append(ByteView(escape.data(), escape.size()));
}

bool append_path_segment(BoundedText& out, ByteView segment) {
    return append_encoded(out, segment,
                          [&](std::size_t at) { return stands_for_itself(segment[at]); });
}

bool append_path(BoundedText& out, ByteView path) {
    return append_encoded(
        out, path, [&](std::size_t at) { return stands_for_itself(path[at]) || path[at] == '/'; });
}

bool append_uri_reference(BoundedText& out, ByteView text) {
    const std::size_t fragment = text.find('#');
    return append_encoded(out, text, [&](std::size_t at) {
        if (text[at] == '%') return decode_escape(text.substr(at)).has_value();
        // The first '#' begins the fragment, which has none (RFC 3986, 3.5).
        if (text[at] == '#') return at == fragment;
        return is(host_byte, text[at]) || ByteView(":/?[]@").find(text[at]) != ByteView::npos;
    });
}

}  // namespace tiderace::http::wire

#include "tiderace/http/wire/percent.h"

namespace tiderace::http::wire {
namespace {

// pchar of RFC 3986 without '&' and the single quote, which mean something to HTML: a link made
// here is also safe inside an attribute.
bool stands_for_itself(char c) {
    return (is(host_byte, c) && c != '&' && c != '\'') || c == ':' || c == '@';
}

bool append_encoded(BoundedText& out, ByteView text, bool keep_slash) {
    constexpr ByteView digits = "0123456789ABCDEF";
    const std::size_t start = out.size();
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        bool fits;
        if (stands_for_itself(c) || (keep_slash && c == '/')) {
            fits = out.append(c);
        } else {
            const char escape[] = {'%', digits[byte >> 4], digits[byte & 15]};
            fits = out.append(ByteView(escape, sizeof escape));
        }
        if (!fits) {
            out.shrink_to(start);
            return false;
        }
    }
    return true;
}

}  // namespace

bool append_path_segment(BoundedText& out, ByteView segment) {
    return append_encoded(out, segment, false);
}

bool append_path(BoundedText& out, ByteView path) {
    return append_encoded(out, path, true);
}

}  // namespace tiderace::http::wire

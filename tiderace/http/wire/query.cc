#include "tiderace/http/wire/query.h"

#include "tiderace/http/wire/percent.h"

namespace tiderace::http::wire {
namespace {

// The set of the URL standard: letters, digits, "*-._"; a space is '+'.
bool append_form_text(BoundedText& out, ByteView text) {
    for (const char c : text) {
        const bool fits = is_letter_or_digit(c) || ByteView("*-._").contains(c) ? out.append(c)
                          : c == ' '                                            ? out.append('+')
                                     : append_escape(out, c);
        if (!fits) return false;
    }
    return true;
}

}  // namespace

std::optional<ByteView> QueryPairs::decode(ByteView text) {
    // Not find_first_of(), which looks each character up in the set.
    if (!text.contains('+') && !text.contains('%')) return text;
    const std::size_t start = decoded_.size();
    while (!text.empty()) {
        const auto escape = decode_escape(text);
        // A '%' without two digits stands for itself, as in the URL standard.
        const char c = escape ? static_cast<char>(*escape) : text[0] == '+' ? ' ' : text[0];
        if (!decoded_.append(c)) {
            overflowed_ = true;
            return std::nullopt;
        }
        text.remove_prefix(escape ? 3 : 1);
    }
    return decoded_.view().substr(start);
}

std::optional<QueryPair> QueryPairs::next() {
    while (!rest_.empty() && !overflowed_) {
        const std::size_t end = rest_.find('&');
        const ByteView piece = rest_.substr(0, end);
        rest_.remove_prefix(end == ByteView::npos ? rest_.size() : end + 1);
        if (piece.empty()) continue;
        const std::size_t equals = piece.find('=');
        const bool has_value = equals != ByteView::npos;
        const auto name = decode(piece.substr(0, equals));
        const auto value = decode(has_value ? piece.substr(equals + 1) : ByteView());
        if (!name || !value) return std::nullopt;
        return QueryPair{*name, *value, has_value};
    }
    return std::nullopt;
}

bool append_query_pair(BoundedText& out, ByteView name, ByteView value) {
    const std::size_t start = out.size();
    const bool fits = (start == 0 || out.append('&')) && append_form_text(out, name) &&
                      out.append('=') && append_form_text(out, value);
    if (!fits) out.shrink_to(start);
    return fits;
}

}  // namespace tiderace::http::wire

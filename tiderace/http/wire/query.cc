#include "tiderace/http/wire/query.h"

#include "tiderace/http/wire/percent.h"

namespace tiderace::http::wire {

std::optional<ByteView> QueryPairs::decode(ByteView text) {
    if (text.find_first_of("+%") == ByteView::npos) return text;
    const std::size_t start = decoded_.size();
    while (!text.empty()) {
        const auto escape = decode_escape(text);
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

}  // namespace tiderace::http::wire

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

// Where the element that begins at 0 ends: at a comma outside quotes or at the end of the bytes.
// npos: a quoted string is still open there.
std::size_t element_end(ByteView bytes) {
    bool quoted = false;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] == '"') quoted = !quoted;
        if (quoted && bytes[i] == '\\') ++i;
        if (!quoted && bytes[i] == ',') return i;
    }
    return quoted ? ByteView::npos : bytes.size();
}

}  // namespace

bool ListReader::next() {
    while (!ended_) {
        const std::size_t end = element_end(rest_);
        if (end == ByteView::npos) {
            malformed_ = true;
            ended_ = true;
            break;
        }
        element_ = trim_ows(rest_.substr(0, end));
        ended_ = end == rest_.size();
        rest_.remove_prefix(ended_ ? end : end + 1);
        if (!element_.empty()) return true;
        had_empty_ = true;
    }
    element_ = {};
    return false;
}

}  // namespace tiderace::http::wire

#include "tiderace/http/app/stream.h"

namespace tiderace::http {
namespace {

// Each line of `text` as a line of its own that begins with `name`; a line break inside a value
// would otherwise begin another field.
void append_lines(std::string& out, std::string_view name, std::string_view text) {
    for (;;) {
        const std::size_t end = text.find_first_of("\r\n");
        out.append(name).append(": ").append(text.substr(0, end)) += '\n';
        if (end == std::string_view::npos) return;
        const bool pair = text.substr(end, 2) == "\r\n";
        text.remove_prefix(end + (pair ? 2 : 1));
    }
}

// A field of one line: what follows a line break is dropped.
void append_line(std::string& out, std::string_view name, std::string_view text) {
    out.append(name).append(": ").append(text.substr(0, text.find_first_of("\r\n"))) += '\n';
}

}  // namespace

std::string render(const Event& event) {
    std::string out;
    if (!event.comment.empty()) append_lines(out, "", event.comment);
    if (!event.event.empty()) append_line(out, "event", event.event);
    if (!event.id.empty()) append_line(out, "id", event.id);
    if (event.retry_ms > 0) append_line(out, "retry", std::to_string(event.retry_ms));
    // An event without data is not dispatched by browsers (HTML, 9.2.6); a comment alone needs
    // none.
    if (!event.data.empty() || event.comment.empty()) append_lines(out, "data", event.data);
    out += '\n';
    return out;
}

}  // namespace tiderace::http

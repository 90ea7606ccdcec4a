#include "lab/report/markup.h"

namespace tiderace::lab::report {

std::string escape_markup(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        // Both quotes, because the text may stand in an attribute, in either kind.
        if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else if (c == '>') {
            out += "&gt;";
        } else if (c == '"') {
            out += "&quot;";
        } else if (c == '\'') {
            out += "&#39;";
        } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
            // A server's last words are quoted in the report: what they contain must not be invalid
            // in the page.
            out += "\uFFFD";
        } else {
            out += c;
        }
    }
    return out;
}

std::string escape_markdown(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        // A line break would end the row of a table.
        if (byte < 0x20 || byte == 0x7F) {
            out += ' ';
        } else if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else if (std::string_view("\\`*_[]|#~>").contains(c)) {
            out += '\\';
            out += c;
        } else {
            out += c;
        }
    }
    return out;
}

}  // namespace tiderace::lab::report

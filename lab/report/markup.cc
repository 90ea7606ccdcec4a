#include "lab/report/markup.h"

#include "tiderace/base/ascii.h"

namespace tiderace::lab::report {

std::string escape_markup(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    for (const char c : text) {
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
        } else if (is_control_character(c) && c != '\n' && c != '\t') {
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
        // A line break would end the row of a table.
        if (is_control_character(c)) {
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

#include "tiderace/text/fault.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tiderace/base/utf8.h"

namespace tiderace::text {
namespace {

// The part of `line` that is shown; `at` is moved with it.
std::string_view window(std::string_view line, std::size_t& at) {
    if (line.size() <= excerpt_columns_max) return line;
    // Around the fault, cut at whole characters of UTF-8.
    std::size_t from = at > excerpt_columns_max / 2 ? at - excerpt_columns_max / 2 : 0;
    from = std::min(from, line.size() - excerpt_columns_max);
    while (from > 0 && !begins_character(line[from])) --from;
    std::size_t to = std::min(line.size(), from + excerpt_columns_max);
    while (to < line.size() && !begins_character(line[to])) ++to;
    at -= from;
    return line.substr(from, to - from);
}

}  // namespace

Fault fault_at(const Source& source, std::size_t offset, std::string problem) {
    const std::string_view text = source.text;
    offset = std::min(offset, text.size());
    const std::string_view before = text.substr(0, offset);
    const std::size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    std::string_view line = text.substr(start, text.find('\n', start) - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::size_t at = std::min(offset - start, line.size());
    Fault fault;
    fault.file = source.name;
    fault.line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
    // Editors count characters, not bytes.
    fault.column = count_characters(line.substr(0, at)) + 1;
    fault.problem = std::move(problem);
    fault.excerpt = window(line, at);
    fault.caret = count_characters(std::string_view(fault.excerpt).substr(0, at));
    for (char& c : fault.excerpt) {
        // A tab would be wider than a blank, and an escape sequence could reach a terminal.
        if (static_cast<unsigned char>(c) < ' ') c = ' ';
    }
    return fault;
}

std::string Fault::message() const {
    std::string said = file;
    if (line > 0) said += ":" + std::to_string(line) + ":" + std::to_string(column);
    said += ": " + problem;
    if (line > 0) said += "\n  " + excerpt + "\n  " + std::string(caret, ' ') + "^";
    return said;
}

}  // namespace tiderace::text

// Text made safe for where it goes: HTML, SVG, Markdown.
//
// Thread   Any: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tiderace::lab::report {

// For text and for attributes in double quotes, of HTML and of SVG. What no document may hold
// (control characters) becomes U+FFFD.
std::string escape_markup(std::string_view text);
// One cell of a table, or a piece of a line: nothing in it is markup, and it holds no line break.
std::string escape_markdown(std::string_view text);

}  // namespace tiderace::lab::report

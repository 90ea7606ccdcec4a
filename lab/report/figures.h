// Figures as people read them, and text made safe for where it goes: HTML, SVG, Markdown.
//
// Thread   Any: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tiderace::lab::report {

// Three digits that mean something: "0.42", "8.21", "52.3", "1,048".
std::string short_number(double value);
std::string with_commas(std::uint64_t value);  // "2,496,629"
std::string micros(double us);                 // "820 µs", "1.24 ms", "2.5 s"
std::string bytes(double value);               // "924 B", "24.3 kB", "1.2 MB", "1.2 GB"
std::string rate(double per_second);           // "312", "12.4k", "384k", "1.2M"
std::string times(double ratio);               // "×1.62"
std::string share(double part);                // 0.993 -> "99.3 %"
std::string seconds(double value);             // "42 s", "3 min 20 s"

// For text and for attributes in double quotes, of HTML and of SVG. What no document may hold
// (control characters) becomes U+FFFD.
std::string escape_markup(std::string_view text);
// One cell of a table, or a piece of a line: nothing in it is markup, and it holds no line break.
std::string escape_markdown(std::string_view text);

}  // namespace tiderace::lab::report

// Internal. How a value is written where it stands. What each escaper gives cannot end the place
// that it was made for, whatever the value is.
//
//   none        plain text (mail), and SafeHtml
//   html        between tags, in <title>, in quoted attribute values
//   url         a whole URL in an attribute: other schemes than http, https, mailto: "#blocked"
//   url_part    a part of one behind a literal start: all but letters, digits and -._~ as %XX
//   js_string   inside the quotes of a JavaScript string, in a script or an event handler
//   js_value    a JavaScript value in a script: numbers, "text", lists and objects, as JSON
//
// Thread   Any.
// Keywords: XSS, HTML escaping
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/text/type.h"

namespace tiderace::text {

enum class Escape : std::uint8_t { none, html, url, url_part, js_string, js_value };

inline constexpr std::string_view blocked_url = "#blocked";
inline constexpr std::size_t json_depth_max = 32;

// For every way but js_value.
void append_escaped(std::string& out, Escape how, std::string_view text);
// Whether append_escaped() appends the text as it is, which is so for most.
bool stays_as_it_is(Escape how, std::string_view text);

// False: nested too deeply, or longer than `bytes_max`; `out` then holds a part of it.
bool append_js_value(std::string& out, Ref value, std::size_t bytes_max);

}  // namespace tiderace::text

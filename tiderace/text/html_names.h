// Which elements and attributes of HTML are special to the escaper.
//
// Thread   Any; constants.
#pragma once

#include <cstdint>
#include <string_view>

#include "tiderace/base/ascii.h"

namespace tiderace::text {

enum class Element : std::uint8_t {
    other,
    script,
    style,
    escapable,  // <title>, <textarea>: text until the end tag
    opaque,     // <iframe>, <noembed>, <noframes>, <xmp>, <plaintext>: neither text nor HTML
    meta,
    animation,  // of SVG: its attributes may change a URL
};
Element element_of(std::string_view tag);

enum class Attribute : std::uint8_t {
    plain,
    url,
    code_url,  // what is behind it runs: its origin has to stand in the template
    event,     // on…: JavaScript
    style,
    refused,  // srcdoc, srcset, and attributes that may change a URL
    script_type,
    content,     // of <meta>, which may be a redirect
    http_equiv,  // of <meta>
};
// Both names in lower case.
Attribute attribute_of(Element element, std::string_view tag, std::string_view name);

// Whether a <script> of this type holds JavaScript or JSON, in which values may stand.
enum class ScriptType : std::uint8_t { script, data };
ScriptType script_type_of(std::string_view type);

constexpr bool is_html_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

}  // namespace tiderace::text

// Readme: a README shown below a listing. Markdown (".md") is rendered where the build has md4c:
// CommonMark and tables. Everything else, and Markdown without md4c, is shown as it is.
//
// Whatever the file holds, the output has our elements only, with every byte of its text escaped:
// none of its own HTML, no picture (a link leads to it), and links to http, https, mailto or
// relative addresses only; of other links the text is shown.
//
// Thread   Any; no state.
// Limits   readme_bytes_max, because md4c's time grows with the square of some texts (64 KiB of
//          "[a]" lines: 0.1 s). What would be longer than readme_html_bytes_max, or nested deeper
//          than readme_nesting_max, is shown as it is.
#pragma once

#include <cstddef>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"

namespace tiderace::http::listing {

inline constexpr std::size_t readme_bytes_max = 64_KiB;
inline constexpr std::size_t readme_html_bytes_max = 8 * readme_bytes_max;
inline constexpr std::size_t readme_nesting_max = 100;  // quotes, lists, emphasis, links

// `name` decides whether it is Markdown. Up to readme_bytes_max of `text` are shown.
std::string readme_html(ByteView name, ByteView text);

// Whether this build has md4c.
bool readme_renders_markdown();

}  // namespace tiderace::http::listing

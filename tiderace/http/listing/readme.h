// Readme: a README shown below a listing. Plain text as it is; of Markdown what such files use:
// headings, paragraphs, lists, quotes, code, emphasis, links.
//
// Whatever the file says, only these elements come out, with every byte of its text escaped, and
// links to http, https, mailto or relative addresses only.
//
// Thread   Any; no state. Time and output grow in proportion to the text.
#pragma once

#include <string>

#include "tiderace/base/bytes.h"

namespace tiderace::http::listing {

// `name` says whether it is Markdown (".md").
std::string readme_html(ByteView name, ByteView text);

}  // namespace tiderace::http::listing

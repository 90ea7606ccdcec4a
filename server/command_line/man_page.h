// tiderace(1) in roff, rendered from the tables of flags.h.
#pragma once

#include <string>
#include <string_view>

namespace tiderace::server {

std::string man_page();

// Text as roff takes it literally: no line becomes a request, no dash a hyphen.
std::string roff_text(std::string_view text);

}  // namespace tiderace::server

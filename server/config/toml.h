// The text of one file to a tree with places, by toml++, which this room alone includes.
#pragma once

#include <cstdint>

#include "server/config/document.h"

namespace tiderace::server::config {

// A syntax error is a problem; then the table is empty.
Table parse_toml(const Sources& sources, std::uint32_t file, Problems& problems);

}  // namespace tiderace::server::config

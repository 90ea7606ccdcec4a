// A configuration file written as a whole: readers see the old text or the new one.
//
// Thread   Main; blocks on the disk.
#pragma once

#include <string>
#include <string_view>

#include "tiderace/base/result.h"

namespace tiderace::server::config {

// Follows a symbolic link. Mode and owner stay, as far as this user may set them.
Result<> replace_file(const std::string& path, std::string_view text);

// Fails where there is a file.
Result<> create_file(const std::string& path, std::string_view text);

}  // namespace tiderace::server::config

// `tiderace fmt FILE`: the file in its layout, or (--check) the lines that have another.
//
// Thread   Main; blocks on the disk.
// Errors   On standard error; then the file is as it was.
#pragma once

#include <string>

namespace tiderace::server::config {

// The exit status: 0; 1 where it is no TOML, or --check found a line; 2 where it cannot be read.
int format_file(const std::string& path, bool only_check);

}  // namespace tiderace::server::config

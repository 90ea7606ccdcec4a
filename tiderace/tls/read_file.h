// read_file: a whole small file, and what a file looks like from outside.
//
// Thread   Any; blocks on the disk, so not on the path of a request.
// Errors   The system's, and a file that is longer than asked for.
#pragma once

#include <string>

#include "tiderace/base/result.h"

namespace tiderace::tls {

Result<std::string> read_file(const std::string& path, std::size_t bytes_max);

// Changes when the file is replaced, written or gone. Not for showing.
std::string file_look(const std::string& path);

}  // namespace tiderace::tls

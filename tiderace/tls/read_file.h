// read_file: a whole small file, and what a file looks like from outside.
//
// Thread   Any; blocks on the disk, so not on the path of a request.
// Errors   The system's, and a file that is longer than asked for.
#pragma once

#include <functional>
#include <string>

#include "tiderace/base/result.h"

namespace tiderace::tls {

// Opens a file for reading: a descriptor, or -1 and errno.
using FileOpener = std::function<int(const std::string& path)>;

// What opens the files below, instead of open(2): a process that gave up the right to read its keys
// has them opened by another. One for the process, as its rights are. Before there are threads;
// empty: open(2) again.
void set_file_opener(FileOpener opener);

Result<std::string> read_file(const std::string& path, std::size_t bytes_max);

// Changes when the file is replaced, written or gone. Not for showing.
std::string file_look(const std::string& path);

}  // namespace tiderace::tls

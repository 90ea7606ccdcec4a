// read_file: a whole small file, which may be a key's, and a fingerprint of its status.
//
// Thread   Any; blocks on the disk, so not on the path of a request.
// Errors   The system's, and a file that is longer than its limit.
#pragma once

#include <functional>
#include <string>

#include "tiderace/base/result.h"
#include "tiderace/base/secret_text.h"

namespace tiderace::tls {

// Opens a file for reading: a descriptor, or -1 and errno.
using FileOpener = std::function<int(const std::string& path)>;

// Opens the files below in place of open(2): a process that gave up the right to read its keys has
// them opened by another. One for the process, whose rights it stands in for. Set before there are
// threads; empty: open(2) again.
void set_file_opener(FileOpener opener);

Result<SecretText> read_file(const std::string& path, std::size_t bytes_max);

// A text that changes when the file is replaced, written or removed. Not for display.
std::string file_look(const std::string& path);

}  // namespace tiderace::tls

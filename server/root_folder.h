// The folder that is served: whether it is there and readable, and what it holds.
//
// Thread   Before the loops start: looks at the disk.
// Errors   Each names the folder or file and what to give instead.
#pragma once

#include <string>
#include <vector>

#include "server/options.h"
#include "tiderace/base/result.h"

namespace tiderace::server {

// The absolute name. The last part of a link stays unresolved, because it may lead to the next
// release one day. Root reads every folder, so what its successor may read is checked later
// (account.h).
Result<std::string> find_root(const std::string& given);

// Whether the file is one that is served.
Result<> check_spa_file(const ServeOptions& options);

bool has_index_file(const std::string& root, const std::vector<std::string>& names);

}  // namespace tiderace::server

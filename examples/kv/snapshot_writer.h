// write_snapshot: all keys, as commands that restore them.
#pragma once

#include <string>

#include "examples/kv/keyspace.h"
#include "tiderace/base/result.h"

namespace kv {

// To a new file, synced.
tiderace::Result<> write_snapshot(Keyspace& keys, const std::string& path);
// The commands that make one key again; how many.
std::size_t append_commands(const Entry& entry, std::string& out);

}  // namespace kv

// The commands about configuration files, but for `run` and `check`: schema, fmt, dump, explain,
// init, import; and those for a server that runs: reload, status.
//
// Thread   Main; blocks on the disk and the terminal.
#pragma once

#include "server/command_line/command_line.h"

namespace tiderace::server::config {

// The exit status.
int use_tool(const FileTool& tool);

}  // namespace tiderace::server::config

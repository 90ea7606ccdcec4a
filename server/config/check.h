// What `tiderace check FILE` and the start of `tiderace run FILE` say of a file.
//
// Thread   Main; blocks on the disk.
#pragma once

#include <optional>
#include <string>

#include "server/config/config.h"

namespace tiderace::server::config {

struct Loaded {
    std::optional<Config> config;  // nullopt: it has errors
    std::string problems;          // and warnings, for standard error
};
Loaded load_config(const std::string& file);

// Serves the sites, and reads the file again where that is asked for. The exit status of the
// program.
int run(Config config, const std::string& file);

// The exit status: 0, 1 for errors in the file, 2 where it could not be read.
int check(const std::string& file);

}  // namespace tiderace::server::config

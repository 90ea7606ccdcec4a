// What `tiderace check FILE`, the start of `tiderace run FILE` and each reload say of a file: the
// same, because one function finds it. Only `run` finds what no reading can know: whether an
// address can be had, a socket's name made, a certificate used, enough descriptors opened.
//
// Thread   Main; blocks on the disk.
#pragma once

#include <optional>
#include <string>

#include "server/config/config.h"
#include "server/live/reloader.h"
#include "server/live/seen_files.h"

namespace tiderace::server::config {

struct Loaded {
    std::optional<Config> config;  // nullopt: it has errors
    std::string problems;          // and warnings, for standard error
    SeenFiles seen;
};
// With `opens`: by the server itself, as the user that it has become.
Loaded load_config(const std::string& file, const OpensAsRoot& opens = {});

// Serves the sites and reads the file again on request. What was loaded has no errors. Returns the
// exit status of the program.
int run(Loaded loaded, const std::string& file);

// The exit status: 0, 1 for errors in the file, 2 where it could not be read.
int check(const std::string& file);

}  // namespace tiderace::server::config

// `tiderace dump FILE`: each value of a configuration and where it came from, with all includes and
// variables in place.
//
//   [[site]]
//   root = "www"             # sites/a.toml:3
//   compress = "off"         # tiderace.toml:9, preset plain
//   listing = false          # default
//
// What a route inherits depends on the request, so each table shows what it sets itself.
//
// Thread   Main; blocks on the disk.
// Errors   Problems of the files, on standard error; then nothing is printed.
// Keywords: origin, effective, secrets
#pragma once

#include <string>

#include "server/config/document.h"
#include "server/config/problems.h"

namespace tiderace::server::config {

struct DumpForm {
    bool is_effective = false;  // presets in their places, and the defaults
    bool is_json = false;
};

// In one line; what ${file:…} names is "…", and so is all that is masked.
std::string value_text(const Value& value, bool is_masked = false, bool is_json = false);

// Passwords, and what ${file:…} names, are "…".
std::string dump(const Table& top, const Sources& sources, DumpForm form);

// The exit status: 0; 1 where the files have errors; 2 where they cannot be read.
int dump_file(const std::string& path, DumpForm form);

}  // namespace tiderace::server::config

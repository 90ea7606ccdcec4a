// The settings of `tiderace serve` for programs: --cgi, --fastcgi and their limits. Part of
// ServeOptions.
//
// Thread   Plain data: written before the loops start, read-only after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/core/address.h"
#include "tiderace/http/cgi/program.h"
#include "tiderace/http/cgi/program_call.h"

namespace tiderace::server {

// A path whose answers are made by programs of a folder (CGI).
struct CgiFolder {
    std::string prefix;  // "/cgi-bin"
    std::string folder;
    bool operator==(const CgiFolder&) const = default;
};

// Requests that a FastCGI peer answers.
struct FastCgiRoute {
    std::string pattern;  // a glob, or a path
    core::Address address;
    bool operator==(const FastCgiRoute&) const = default;
};

struct CgiSettings {
    std::vector<CgiFolder> folders;
    std::vector<FastCgiRoute> fastcgi;
    Duration timeout = http::cgi::CallRules{}.timeout;
    std::uint64_t programs_max = 32;  // at a time, of all loops
    std::uint64_t memory_bytes_max = http::cgi::ProgramLimits{}.memory_bytes_max;  // of each
    bool operator==(const CgiSettings&) const = default;
};

}  // namespace tiderace::server

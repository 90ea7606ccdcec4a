// The settings of `tiderace serve` for programs: the limits of --cgi and --fastcgi. Part of
// ServeOptions.
//
// Thread   Plain data: written before the loops start, read-only after.
#pragma once

#include <cstdint>

#include "tiderace/base/units.h"
#include "tiderace/http/cgi/program.h"
#include "tiderace/http/cgi/program_call.h"

namespace tiderace::server {

struct CgiSettings {
    Duration timeout = http::cgi::CallRules{}.timeout;
    std::uint64_t programs_max = 32;  // at a time, of all loops
    std::uint64_t memory_bytes_max = http::cgi::ProgramLimits{}.memory_bytes_max;  // of each
    bool operator==(const CgiSettings&) const = default;
};

}  // namespace tiderace::server

// Parts of ServeOptions: the limits of programs (--cgi, --fastcgi), and [metrics] of a file.
//
// Thread   Plain data: written before the loops start, read-only after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/http/cgi/program.h"
#include "tiderace/http/cgi/program_call.h"
#include "tiderace/net/network.h"

namespace tiderace::server {

struct CgiSettings {
    Duration timeout = http::cgi::CallRules{}.timeout;
    std::uint64_t programs_max = 32;  // at a time, of all loops
    std::uint64_t memory_bytes_max = http::cgi::ProgramLimits{}.memory_bytes_max;  // of each
    bool operator==(const CgiSettings&) const = default;
};

struct MetricsOptions {
    bool on = false;                        // requests are counted
    std::string listen = {};                // HOST:PORT of the page; "": only the admin socket
    std::vector<net::Network> remote = {};  // whose clients may read it there; none: all
    bool operator==(const MetricsOptions&) const = default;
};

}  // namespace tiderace::server

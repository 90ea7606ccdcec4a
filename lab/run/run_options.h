// RunOptions: the options of `tiderace lab run`, as plain data with their defaults.
//
// Thread   Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/base/units.h"

namespace tiderace::lab::run {

struct RunOptions {
    std::vector<std::string> engines;       // and opponents; empty: all that are here
    std::vector<std::string> workloads;     // empty: all
    bool quick = false;                     // fewer and shorter cells
    std::string folder = "lab-results";     // where the results go
    bool force = false;                     // over an earlier run's results
    std::uint64_t rounds = 0;               // 0: three, or one if quick
    Duration cell_time = Duration::zero();  // of load for a cell; 0: what the time allows

    // About the running program, for the report.
    std::string version;
    std::string build;
    std::string command;
};

}  // namespace tiderace::lab::run

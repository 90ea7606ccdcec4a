// Plan: which cells a run has, in which order, and how long each is loaded, so that the whole stays
// within the time that was promised.
//
// Thread   Any: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/run/run_options.h"
#include "lab/run/subject.h"
#include "lab/run/workload.h"

namespace tiderace::lab::run {

// Promised are 3 and 40 minutes; servers that refuse, starve or hang take some seconds more.
inline constexpr Duration quick_time = 110s;
inline constexpr Duration full_time = 2'000s;

struct PlannedCell {
    std::size_t subject;   // index of the plan's
    std::size_t workload;  // index of workloads()
    std::uint64_t connections;
    std::uint64_t round;
    std::string skipped;  // why it is not run
    bool operator==(const PlannedCell&) const = default;
};

struct Plan {
    // Rounds outside, servers in turn inside, another one first in each.
    std::vector<PlannedCell> cells;
    std::uint64_t rounds = 1;
    Duration cell_time = Duration::zero();
    Duration estimate = Duration::zero();
    std::vector<std::string> notes;  // what the machine did not allow

    std::size_t to_run() const;
};

// Where `connections_most` is too few for a workload, the plan has fewer, with a note.
Plan plan_run(const RunOptions& options, const std::vector<RunSubject>& subjects,
              std::uint64_t connections_most);
// Starting, opening, closing: what a cell takes beside its load.
Duration overhead(std::uint64_t connections);
// Why this server cannot run this workload; "" when it can.
std::string cannot(const RunSubject& subject, const Workload& workload);

}  // namespace tiderace::lab::run

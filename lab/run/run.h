// tiderace lab run: every server under every load, in turns, with results.json and its pages as the
// result.
//
//   plan -> round -> workload -> server after server -> results
//
// Thread   main's. The loads have threads of their own, the servers are processes.
// Errors   Lines on standard error. Returns the exit status: 0, or 1 where nothing could be
//          measured or written, or it was interrupted; 2, and nothing was started, where an earlier
//          run's results would be written over.
#pragma once

#include <functional>
#include <vector>

#include "lab/report/results.h"
#include "lab/run/cell_run.h"
#include "lab/run/plan.h"
#include "lab/run/run_options.h"

namespace tiderace::lab::run {

int run(const RunOptions& options);

// The middle of it, for the tests: all cells of a plan.
struct CellTold {
    const report::Cell* cell;  // before it is run: its names only
    std::size_t done;
    std::size_t of;
};
struct RunParts {
    const Plan* plan;
    const std::vector<RunSubject>* subjects;
    const SiteFolder* site;
    std::vector<unsigned> server_cpus = {};
    std::uint64_t load_threads = 1;
    Patience patience = {};
    Wait wait;
    std::function<void(const CellTold&)> told;  // as each begins, and as it ends
};
// False: interrupted; `cells` holds what was done until then.
bool run_cells(const RunParts& parts, std::vector<report::Cell>& cells);

}  // namespace tiderace::lab::run

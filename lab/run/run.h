// tiderace lab run: every server under every load, in turns, and what came of it as results.json
// with its pages.
//
//   plan -> round -> workload -> server after server -> results
//
// Thread   main's. The loads have threads of their own, the servers are processes.
// Errors   Lines on standard error. Returns the exit status: 0, or 1 where nothing could be
//          measured or written, or it was interrupted.
#pragma once

#include <functional>
#include <vector>

#include "lab/report/results.h"
#include "lab/run/cell_run.h"
#include "lab/run/plan.h"
#include "lab/run/run_options.h"

namespace tiderace::lab::run {

int run(const RunOptions& options);

// The middle of it, for the tests: all cells of a plan, each told once it is done. `told` gets the
// cell and how many are left.
struct CellTold {
    const report::Cell* cell;
    std::size_t done;
    std::size_t of;
};
// False: interrupted.
bool run_cells(const Plan& plan, const std::vector<RunSubject>& subjects, const SiteFolder& site,
               const std::vector<unsigned>& server_cpus, std::uint64_t load_threads,
               const Wait& wait, const std::function<void(const CellTold&)>& told,
               std::vector<report::Cell>& cells);

}  // namespace tiderace::lab::run

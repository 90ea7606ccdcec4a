// CellRun: one server under one load, once: started, checked by one request, loaded, measured,
// ended.
//
//   start server -> one answer, every byte compared -> load, until all connections are open
//   -> CPU and answers, before and after the time -> memory -> what became of it
//
// Thread   The run's.
// Errors   Whatever goes wrong is the cell's state, with a sentence; the run goes on.
#pragma once

#include <optional>
#include <string>

#include "lab/report/results.h"
#include "lab/run/site_folder.h"
#include "lab/run/subject.h"
#include "lab/run/workload.h"
#include "load/tally.h"

namespace tiderace::lab::run {

// How long is waited for what may never come.
struct Patience {
    Duration open = 20s;   // for all connections to be open
    Duration stall = 3s;   // for one more; a SYN that was lost comes again after 1 s
    Duration answer = 5s;  // for the first answer, before it counts as hung
    Duration others = 2s;  // for an answer to every client after the first
};

struct CellPlan {
    const RunSubject* subject;
    const Workload* workload;
    const SiteFolder* site;
    std::uint64_t connections;
    std::uint64_t round = 1;
    Duration time;  // of load, once all connections are open
    Patience patience = {};
    std::uint64_t load_threads = 1;
    std::vector<unsigned> server_cpus;
};

// Nothing: it was interrupted, and the cell has no figures.
std::optional<report::Cell> run_cell(const CellPlan& plan, const Wait& wait);

// Observations of a server, before the verdict.
struct Observed {
    load::LoadTally tally;
    std::uint64_t asked = 0;           // connections
    std::uint64_t answers = 0;         // in the measured time
    bool closes = false;               // connections end by themselves: few are open at one time
    bool stopped = false;              // none came after it
    std::optional<std::string> ended;  // how its process ended
};
struct Verdict {
    report::CellState state = report::CellState::ok;
    std::string reason;
    bool operator==(const Verdict&) const = default;
};
Verdict judge(const Observed& observed);

}  // namespace tiderace::lab::run

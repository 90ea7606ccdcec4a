// run_load: one load from its options to its figures, as a call. `tiderace load` is this and a
// terminal; the lab calls it for each cell of its tables.
//
//   load::LoadOutcome outcome = load::run_load({.url = "http://127.0.0.1:8080/", .duration = 2s});
//   if (outcome.status == 0) use(outcome.report.tally.latency.quantile(0.99));
//
// Owner    The caller; nothing is left running when it returns, processes included, but a lookup
//          that the audience ended (lookup.h).
// Thread   Any, one at a time: it blocks until the run is over. With LoadOptions::processes above 1
//          it forks: then before the program has threads of its own.
// Errors   LoadOutcome::status and complaint. Never a signal: SIGPIPE is ignored from here on, and
//          what else the program does with signals is its own (load.h has Ctrl-C).
// Limits   Raises the soft limit on open files to the hard one; fewer connections than asked for
//          where even that is too low, with a note.
#pragma once

#include <string>

#include "load/lookup.h"
#include "load/options.h"
#include "load/progress.h"
#include "load/report.h"

namespace tiderace::load {

// Observes a run and may end it. Called on the thread that called run_load().
class LoadAudience {
  public:
    // Some four times a second; `elapsed` since the beginning.
    virtual void on_progress(const LoadProgress&, Duration /*elapsed*/) {}
    // Asked as often, and as soon as descriptor() can be read. True: the run ends, with the figures
    // so far.
    virtual bool wants_end() { return false; }
    virtual int descriptor() const { return -1; }

  protected:
    ~LoadAudience() = default;
};

struct LoadOutcome {
    // As the program exits: 0 all was answered rightly, 1 not so, 2 the options make no sense.
    int status = 0;
    std::string complaint;  // a sentence, when nothing was run: there is no report then
    LoadReport report;
};

LoadOutcome run_load(const LoadOptions& options, LoadAudience* audience = nullptr,
                     const Lookup& look_up = core::look_up);

}  // namespace tiderace::load

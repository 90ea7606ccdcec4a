// LoadRun: one load on threads of its own, watched while it runs. What `tiderace load` does,
// without its report.
//
//   start() -> progress() … -> stop() -> finish(): the tally
//
// Owner    The cell that is measured.
// Thread   The starter's; each loop of the load has its own, which inherits the starter's CPUs.
// Errors   start() fails when no loop can be made; what the server does is in the tally.
#pragma once

#include <memory>

#include "load/plan.h"
#include "load/team.h"
#include "tiderace/base/result.h"

namespace tiderace::lab::run {

class LoadRun {
  public:
    // `options.url` names the server.
    static Result<std::unique_ptr<LoadRun>> start(load::LoadOptions options);

    load::LoadProgress progress() const { return team_->progress(); }
    void stop() { team_->stop(); }
    void set_latency_window(load::LatencyWindow to) { team_->set_latency_window(to); }
    // Waits for the end of the load, which stop() hastens.
    const load::LoadTally& finish();
    // CPU time of its busiest loop by the time that it ran; after finish().
    double busy() const { return sum_ != nullptr ? sum_->busiest_loop : 0; }
    std::uint64_t connections() const { return plan_.options.connections; }

  private:
    explicit LoadRun(load::LoadPlan plan) : plan_(std::move(plan)) {}

    load::LoadPlan plan_;
    std::unique_ptr<load::LoadTeam> team_;  // reads the plan
    std::unique_ptr<load::LoadSum> sum_;
};

}  // namespace tiderace::lab::run

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
#include <string>
#include <thread>
#include <vector>

#include "lab/load_worker.h"
#include "tiderace/base/result.h"

namespace tiderace::lab::run {

class LoadRun {
  public:
    // `options.url` names the server.
    static Result<std::unique_ptr<LoadRun>> start(LoadOptions options);
    ~LoadRun();
    LoadRun(const LoadRun&) = delete;
    LoadRun& operator=(const LoadRun&) = delete;

    LoadWorker::Progress progress() const;
    void stop();
    // Waits for its end, which comes by itself or soon after stop().
    const LoadTally& finish();
    // CPU time of its busiest loop by the time that it ran; after finish().
    double busy() const;
    std::uint64_t connections() const { return plan_.options.connections; }

  private:
    explicit LoadRun(LoadPlan plan) : plan_(std::move(plan)) {}
    Result<> make_workers();

    LoadPlan plan_;
    std::vector<std::unique_ptr<LoadWorker>> workers_;
    std::vector<std::thread> threads_;
    LoadTally tally_;
};

}  // namespace tiderace::lab::run

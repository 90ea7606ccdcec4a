// LoadTeam: what runs a load: threads of this process, or several processes with threads of theirs.
//
//   LoadThreads     one loop and thread for each LoadWorker
//   LoadProcesses   forks; in each child LoadThreads over its part, merged through shared memory
//
// Owner    run_load(); the plan outlives it.
// Thread   The one that made it.
// Errors   Loops, TLS contexts and threads that cannot be had: a Result. A child that dies, or can
//          have no thread: LoadSum::lost.
#pragma once

#include <memory>

#include "load/progress.h"
#include "load/worker.h"
#include "tiderace/base/result.h"

namespace tiderace::load {

// The outcome: plain bytes, so that it goes through shared memory.
struct LoadSum {
    LoadTally tally;
    Duration elapsed = Duration::zero();
    Duration cpu = Duration::zero();  // of the processes
    double busiest_loop = 0;          // its CPU time by the time elapsed, 0..1
    std::array<char, 16> engine{};
    std::array<std::uint64_t, static_cast<std::size_t>(tls::HandshakeFailure::count_)>
        handshakes_failed{};
    std::uint64_t handshakes_resumed = 0;
    std::uint64_t lost = 0;  // processes that died

    void merge(const LoadSum& other);
};
static_assert(std::is_trivially_copyable_v<LoadSum>);

class LoadTeam {
  public:
    virtual ~LoadTeam() = default;

    virtual LoadProgress progress() = 0;
    // Ends the run soon, with the figures so far.
    virtual void stop() = 0;
    // As LoadWorker's; of processes up to 20 ms later.
    virtual void set_latency_window(LatencyWindow to) = 0;
    // Waits until all are done.
    virtual std::unique_ptr<LoadSum> finish() = 0;
};

// All of a load, and the i-th of `parts` of one; the first ones get what is left over.
LoadWorker::Share whole_of(const LoadPlan& plan);
LoadWorker::Share share_of(const LoadWorker::Share& whole, std::size_t i, std::size_t parts);

// Runs from here on. `threads` of each process.
Result<std::unique_ptr<LoadTeam>> start_threads(const LoadPlan& plan,
                                                const LoadWorker::Share& share,
                                                std::size_t threads);
Result<std::unique_ptr<LoadTeam>> start_processes(const LoadPlan& plan,
                                                  const LoadWorker::Share& share,
                                                  std::size_t threads, std::size_t processes);

}  // namespace tiderace::load

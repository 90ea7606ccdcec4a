#include "lab/run/load_run.h"

#include <algorithm>
#include <utility>

namespace tiderace::lab::run {

Result<std::unique_ptr<LoadRun>> LoadRun::start(load::LoadOptions options) {
    const std::string url = options.url;
    auto plan = load::plan_load(std::move(options));
    if (!plan) return fail(Error(0, "load", url, plan.error()));
    std::unique_ptr<LoadRun> run(new LoadRun(std::move(*plan)));
    const load::LoadOptions& told = run->plan_.options;
    const std::uint64_t threads = std::clamp<std::uint64_t>(told.threads, 1, told.loops_max());
    auto team = load::start_threads(run->plan_, whole_of(run->plan_), threads);
    if (!team) return fail(team.error());
    run->team_ = std::move(*team);
    return run;
}

const load::LoadTally& LoadRun::finish() {
    // Once: the threads are joined by it. Later calls return the same sum.
    if (sum_ == nullptr) sum_ = team_->finish();
    return sum_->tally;
}

}  // namespace tiderace::lab::run

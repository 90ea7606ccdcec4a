#include "lab/run/load_run.h"

#include <algorithm>
#include <utility>

namespace tiderace::lab::run {
namespace {

constexpr std::uint64_t connections_per_address = 20'000;
constexpr std::uint64_t addresses_for_closing = 16;  // a port rests a while after its use

std::vector<core::Address> sources_for(const LoadOptions& options) {
    const std::uint64_t count =
        options.close ? addresses_for_closing : options.connections / connections_per_address + 1;
    std::vector<core::Address> sources;
    if (count == 1) return sources;
    for (std::uint64_t i = 1; i <= count; ++i) {
        sources.push_back(*core::Address::parse("127.0.0." + std::to_string(i) + ":0"));
    }
    return sources;
}

// The part of `whole` that is the i-th of `parts`; the first ones get what is left over.
std::uint64_t part(std::uint64_t whole, std::uint64_t i, std::uint64_t parts) {
    return whole / parts + (i < whole % parts ? 1 : 0);
}

}  // namespace

Result<std::unique_ptr<LoadRun>> LoadRun::start(LoadOptions options) {
    LoadPlan plan{.options = std::move(options)};
    auto target = parse_load_target(plan.options.url);
    if (!target) return fail(Error(0, "load", plan.options.url, target.error()));
    plan.target = std::move(*target);
    const std::string request = render_request(plan.target, plan.options);
    plan.request_bytes = request.size();
    for (std::uint64_t i = 0; i < plan.options.pipeline; ++i) plan.batch += request;
    plan.sources = sources_for(plan.options);
    std::unique_ptr<LoadRun> run(new LoadRun(std::move(plan)));
    if (auto made = run->make_workers(); !made) return fail(made.error());
    for (auto& worker : run->workers_) {
        run->threads_.emplace_back([&worker = *worker] { worker.run(); });
    }
    return run;
}

Result<> LoadRun::make_workers() {
    const LoadOptions& options = plan_.options;
    const std::uint64_t most = options.requests > 0
                                   ? std::min(options.requests, options.connections)
                                   : options.connections;
    const std::uint64_t count = std::clamp<std::uint64_t>(options.threads, 1, most);
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        auto loop = core::EventLoop::create({.engine = options.engine});
        if (!loop) return fail(loop.error());
        const LoadWorker::Share share{
            .first_connection = next,
            .connections = part(options.connections, i, count),
            .requests = part(options.requests, i, count),
            .rate = static_cast<double>(options.rate) / static_cast<double>(count)};
        next += share.connections;
        workers_.push_back(std::make_unique<LoadWorker>(plan_, share, std::move(*loop)));
    }
    return {};
}

LoadRun::~LoadRun() {
    stop();
    for (std::thread& thread : threads_) {
        if (thread.joinable()) thread.join();
    }
}

LoadWorker::Progress LoadRun::progress() const {
    LoadWorker::Progress sum{.done = true};
    for (const auto& worker : workers_) {
        const LoadWorker::Progress one = worker->progress();
        sum.answers += one.answers;
        sum.errors += one.errors;
        sum.received_bytes += one.received_bytes;
        sum.opened += one.opened;
        sum.connect_errors += one.connect_errors;
        sum.open += one.open;
        sum.done &= one.done;
    }
    return sum;
}

void LoadRun::stop() {
    for (auto& worker : workers_) worker->stop();
}

const LoadTally& LoadRun::finish() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        if (!threads_[i].joinable()) continue;
        threads_[i].join();
        tally_.merge(workers_[i]->tally());
    }
    return tally_;
}

double LoadRun::busy() const {
    double most = 0;
    for (const auto& worker : workers_) {
        const auto elapsed = static_cast<double>(worker->elapsed().count());
        if (elapsed > 0)
            most = std::max(most, static_cast<double>(worker->cpu().count()) / elapsed);
    }
    return most;
}

}  // namespace tiderace::lab::run

#include <algorithm>
#include <string>
#include <thread>

#include "load/team.h"
#include "tiderace/base/thread_refusal.h"
#include "tiderace/metrics/own_cpu.h"

namespace tiderace::load {
namespace {

// The first parts get one more, so that nothing of the whole is lost to the division.
std::uint64_t part(std::uint64_t whole, std::size_t i, std::size_t parts) {
    return whole / parts + (i < whole % parts ? 1 : 0);
}

class LoadThreads final : public LoadTeam {
  public:
    explicit LoadThreads(std::vector<std::unique_ptr<LoadWorker>> workers)
        : workers_(std::move(workers)), cpu_before_(metrics::own_process_cpu()) {}
    // Also the threads that start() has begun before one was refused.
    ~LoadThreads() override {
        stop();
        join();
    }

    Result<> start() {
        const int code = thread_refusal([this] {
            for (auto& worker : workers_) threads_.emplace_back([&worker] { worker->run(); });
        });
        if (code == 0) return {};
        return fail(Error(code, "start",
                          "loop " + std::to_string(threads_.size() + 1) + " of " +
                              std::to_string(workers_.size()),
                          "no further thread is allowed: use fewer --threads, or raise the limit "
                          "(ulimit -u, pids.max of the cgroup)"));
    }

    LoadProgress progress() override {
        LoadProgress sum{.asking = true, .done = true};
        for (const auto& worker : workers_) sum.add(worker->progress());
        return sum;
    }
    void stop() override {
        for (auto& worker : workers_) worker->stop();
    }
    void set_latency_window(LatencyWindow to) override {
        for (auto& worker : workers_) worker->set_latency_window(to);
    }
    std::unique_ptr<LoadSum> finish() override {
        // First: the tallies are the threads' own, without a lock, until they have ended.
        join();
        auto sum = std::make_unique<LoadSum>();
        for (const auto& worker : workers_) add(*sum, *worker);
        // The whole process's, with the thread that only watches: it also costs this machine.
        sum->cpu = metrics::own_process_cpu() - cpu_before_;
        // The opening of the connections is in no figure: neither is its time.
        for (const auto& worker : workers_) sum->cpu -= worker->gathering_cpu();
        return sum;
    }

  private:
    void join() {
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }

    static void add(LoadSum& sum, const LoadWorker& worker) {
        sum.tally.merge(worker.tally());
        // They run side by side, so the time of all is the longest one, and rates are given for
        // that time.
        sum.elapsed = std::max(sum.elapsed, worker.elapsed());
        const auto elapsed = static_cast<double>(std::max<Duration>(1ns, worker.elapsed()).count());
        sum.busiest_loop =
            std::max(sum.busiest_loop, static_cast<double>(worker.cpu().count()) / elapsed);
        worker.engine().copy(sum.engine.data(), sum.engine.size() - 1);
        if (const tls::HandshakeCounters* counters = worker.handshakes()) {
            sum.handshakes_resumed += counters->resumed();
            for (std::size_t i = 0; i < sum.handshakes_failed.size(); ++i) {
                sum.handshakes_failed[i] += counters->failed[i];
            }
        }
    }

    std::vector<std::unique_ptr<LoadWorker>> workers_;
    std::vector<std::thread> threads_;
    Duration cpu_before_;
};

}  // namespace

void LoadSum::merge(const LoadSum& other) {
    tally.merge(other.tally);
    elapsed = std::max(elapsed, other.elapsed);
    cpu += other.cpu;
    busiest_loop = std::max(busiest_loop, other.busiest_loop);
    if (engine[0] == 0) engine = other.engine;
    for (std::size_t i = 0; i < handshakes_failed.size(); ++i) {
        handshakes_failed[i] += other.handshakes_failed[i];
    }
    handshakes_resumed += other.handshakes_resumed;
    lost += other.lost;
}

LoadWorker::Share whole_of(const LoadPlan& plan) {
    return {.connections = plan.options.connections,
            .requests = plan.options.requests,
            .rate = static_cast<double>(plan.options.rate)};
}

LoadWorker::Share share_of(const LoadWorker::Share& whole, std::size_t i, std::size_t parts) {
    // Numbers that no other part has: source addresses and slow clients follow from them.
    std::uint64_t first = whole.first_connection;
    for (std::size_t before = 0; before < i; ++before) {
        first += part(whole.connections, before, parts);
    }
    return {.first_connection = first,
            .connections = part(whole.connections, i, parts),
            .requests = part(whole.requests, i, parts),
            .rate = whole.rate / static_cast<double>(parts)};
}

Result<std::unique_ptr<LoadTeam>> start_threads(const LoadPlan& plan,
                                                const LoadWorker::Share& share,
                                                std::size_t threads) {
    std::vector<std::unique_ptr<LoadWorker>> workers;
    for (std::size_t i = 0; i < threads; ++i) {
        // All of them before the first thread: where one cannot be made, no load has begun.
        auto worker = LoadWorker::create(plan, share_of(share, i, threads));
        if (!worker) return fail(worker.error());
        workers.push_back(std::move(*worker));
    }
    auto team = std::make_unique<LoadThreads>(std::move(workers));
    if (auto started = team->start(); !started) return fail(started.error());
    return team;
}

}  // namespace tiderace::load

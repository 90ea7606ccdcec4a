#include "lab/load.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "lab/load_report.h"
#include "lab/load_worker.h"
#include "lab/server_watch.h"
#include "tiderace/core/signals.h"

namespace tiderace::lab {
namespace {

constexpr std::uint64_t connections_per_address = 20'000;  // of the 28,232 ports Linux gives out
constexpr std::uint64_t addresses_for_closing = 16;        // ports rest a second after use
constexpr std::uint64_t spare_descriptors = 64;
constexpr int progress_interval_ms = 250;
constexpr Duration hopeless_after = 3s;

int complain(const std::string& sentence, int status) {
    std::fprintf(stderr, "tiderace: %s\n", sentence.c_str());
    return status;
}

// As many as the run needs; each pair of addresses has its own ports.
std::vector<core::Address> sources_for(const LoadOptions& options, const core::Address& target) {
    sockaddr_storage storage;
    target.to_sockaddr(storage);
    if (storage.ss_family != AF_INET || !target.is_loopback()) return {};
    std::uint64_t count = options.source_addresses;
    if (count == 0) {
        count = options.connections / connections_per_address + 1;
        if (options.close) count = std::max(count, addresses_for_closing);
    }
    if (count == 1) return {};
    std::vector<core::Address> sources;
    for (std::uint64_t i = 1; i <= count; ++i) {
        const std::string text = "127." + std::to_string(i >> 16 & 255) + "." +
                                 std::to_string(i >> 8 & 255) + "." + std::to_string(i & 255) +
                                 ":0";
        sources.push_back(*core::Address::parse(text));
    }
    return sources;
}

// How many descriptors there may be, once the soft limit is raised to the hard one.
std::uint64_t descriptors_max() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        ::getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur;
}

std::size_t threads_for(const LoadOptions& options) {
    const std::uint64_t half = std::max(1U, std::thread::hardware_concurrency() / 2);
    const std::uint64_t asked = options.threads > 0 ? options.threads : half;
    std::uint64_t most = options.connections;
    if (options.requests > 0) most = std::min(most, options.requests);
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(asked, 1, most));
}

// The part of `whole` that is the i-th of `parts`; the first ones get what is left over.
std::uint64_t part(std::uint64_t whole, std::size_t i, std::size_t parts) {
    return whole / parts + (i < whole % parts ? 1 : 0);
}

Duration process_cpu() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto of = [](const timeval& t) {
        return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
    };
    return of(used.ru_utime) + of(used.ru_stime);
}

// One run: the threads, and the one that looks at them.
class Run {
  public:
    Run(LoadPlan plan, LoadReport report) : plan_(std::move(plan)), report_(std::move(report)) {}

    Result<> make_workers() {
        for (std::size_t i = 0; i < report_.threads; ++i) {
            auto loop = core::EventLoop::create({.engine = plan_.options.engine});
            if (!loop) return fail(loop.error());
            report_.engine = (*loop)->backend().name();
            LoadWorker::Share share{
                .first_connection = next_connection_,
                .connections = part(plan_.options.connections, i, report_.threads),
                .requests = part(plan_.options.requests, i, report_.threads),
                .rate =
                    static_cast<double>(plan_.options.rate) / static_cast<double>(report_.threads)};
            next_connection_ += share.connections;
            workers_.push_back(std::make_unique<LoadWorker>(plan_, share, std::move(*loop)));
        }
        return {};
    }

    LoadReport run(core::Signals& signals) {
        if (plan_.options.server_pid > 0) {
            pids_ = {static_cast<int>(plan_.options.server_pid)};
        } else if (plan_.target.address.is_loopback()) {
            pids_ = find_listeners(plan_.target.address);
        }
        const ServerUse before = read_use(pids_);
        const Duration own_before = process_cpu();
        for (auto& worker : workers_) threads_.emplace_back([&worker] { worker->run(); });
        watch(signals);
        for (std::thread& thread : threads_) thread.join();
        report_.own_cpu = process_cpu() - own_before;
        const ServerUse after = read_use(pids_);
        if (before.processes > 0 && after.processes == before.processes) {
            report_.server = ServerUse{.cpu = after.cpu - before.cpu,
                                       .memory_bytes = std::max(memory_max_, after.memory_bytes),
                                       .processes = after.processes};
        } else if (before.processes > 0) {
            report_.notes.push_back("the server ended during the run");
        }
        add_up();
        return std::move(report_);
    }

  private:
    LoadWorker::Progress progress() const {
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

    void stop() {
        for (auto& worker : workers_) worker->stop();
    }

    void watch(core::Signals& signals) {
        const core::SystemClock clock;
        const bool on_terminal = ::isatty(STDERR_FILENO) != 0 && !plan_.options.json;
        const Instant start = clock.now();
        LoadWorker::Progress last;
        Instant last_answer = start;
        while (true) {
            const LoadWorker::Progress now = progress();
            if (now.done) break;
            const Instant moment = clock.now();
            if (now.answers + now.errors > last.answers + last.errors || now.open > 0) {
                last_answer = moment;
            }
            if (on_terminal) show(now, last, moment - start);
            last = now;
            memory_max_ = std::max(memory_max_, read_use(pids_).memory_bytes);
            if (moment - last_answer > hopeless_after && !hopeless_) {
                hopeless_ = true;
                report_.notes.push_back("given up: for 3 s no connection could be opened");
                stop();
            }
            wait_for(signals, now);
        }
        if (on_terminal) std::fputs("\r\x1b[K", stderr);
    }

    void wait_for(core::Signals& signals, const LoadWorker::Progress& now) {
        // Short runs end soon: the first looks come sooner.
        pollfd ready{signals.descriptor(), POLLIN, 0};
        const bool is_new = looks_ < 10 && now.answers == 0;
        ::poll(&ready, 1, ++looks_ < 20 || is_new ? 20 : progress_interval_ms);
        while (signals.next()) {
            report_.interrupted = true;
            stop();
        }
    }

    void show(const LoadWorker::Progress& now, const LoadWorker::Progress& last, Duration since) {
        const double shown_s = std::chrono::duration<double>(since - shown_at_).count();
        if (shown_s < 0.2) return;
        std::fprintf(stderr, "\r\x1b[K  %.1f s   %llu answers   %.0f/s   %lld open   %llu errors",
                     std::chrono::duration<double>(since).count(),
                     static_cast<unsigned long long>(now.answers),
                     static_cast<double>(now.answers - shown_answers_) / shown_s,
                     static_cast<long long>(now.open),
                     static_cast<unsigned long long>(now.errors + now.connect_errors));
        std::fflush(stderr);
        shown_at_ = since;
        shown_answers_ = now.answers;
        (void)last;
    }

    void add_up() {
        for (const auto& worker : workers_) {
            report_.tally.merge(worker->tally());
            report_.elapsed = std::max(report_.elapsed, worker->elapsed());
            const double share =
                static_cast<double>(worker->cpu().count()) /
                static_cast<double>(std::max<std::int64_t>(1, worker->elapsed().count()));
            report_.busiest_loop = std::max(report_.busiest_loop, share);
        }
    }

    LoadPlan plan_;
    LoadReport report_;
    std::vector<std::unique_ptr<LoadWorker>> workers_;
    std::vector<std::thread> threads_;
    std::vector<int> pids_;
    std::uint64_t next_connection_ = 0;
    std::uint64_t memory_max_ = 0;
    Duration shown_at_ = Duration::zero();
    std::uint64_t shown_answers_ = 0;
    int looks_ = 0;
    bool hopeless_ = false;
};

// The workload within what this machine's limits allow, each change with a note.
void fit_to_limits(LoadOptions& options, std::vector<std::string>& notes) {
    const std::uint64_t most = descriptors_max();
    if (options.connections + spare_descriptors <= most) return;
    const std::uint64_t fits = most > spare_descriptors ? most - spare_descriptors : 1;
    notes.push_back("the limit on open files is " + std::to_string(most) + ": " +
                    std::to_string(fits) + " connections instead of " +
                    std::to_string(options.connections));
    options.connections = fits;
}

}  // namespace

int load(const LoadOptions& given) {
    LoadPlan plan{.options = given};
    auto target = parse_load_target(given.url);
    if (!target) return complain(given.url + ": " + target.error(), 2);
    if (auto permitted = permit_load(*target, given.i_own_this_host); !permitted) {
        return complain(permitted.error(), 2);
    }
    LoadReport report;
    fit_to_limits(plan.options, report.notes);
    report.options = plan.options;
    report.threads = threads_for(plan.options);
    plan.target = std::move(*target);
    const std::string request = render_request(plan.target, plan.options);
    plan.request_bytes = request.size();
    for (std::uint64_t i = 0; i < plan.options.pipeline; ++i) plan.batch += request;
    plan.is_head = plan.options.verb() == "HEAD";
    plan.sources = sources_for(plan.options, plan.target.address);
    report.source_addresses = plan.sources.size();
    core::ignore_sigpipe();
    // Before the threads: they inherit the blocked signals.
    auto signals = core::Signals::open(std::array{SIGINT, SIGTERM});
    if (!signals) return complain(signals.error().message(), 1);
    Run run(std::move(plan), std::move(report));
    if (auto made = run.make_workers(); !made) return complain(made.error().message(), 1);
    const LoadReport result = run.run(*signals);
    const std::string out = given.json ? load_json(result) : load_table(result);
    std::fwrite(out.data(), 1, out.size(), stdout);
    std::fflush(stdout);
    return all_right(result) ? 0 : 1;
}

}  // namespace tiderace::lab

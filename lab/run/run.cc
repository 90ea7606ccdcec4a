#include "lab/run/run.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <set>
#include <utility>

#include "lab/report/pictures.h"
#include "lab/report/report.h"
#include "lab/report/results_json.h"
#include "lab/run/machine.h"
#include "load/figures.h"
#include "load/progress_line.h"
#include "tiderace/base/calendar.h"
#include "tiderace/core/clock.h"
#include "tiderace/core/process_limits.h"
#include "tiderace/core/signals.h"

namespace tiderace::lab::run {
namespace {

using report::Cell;
using report::CellState;

int complain(const std::string& sentence, int status) {
    std::fprintf(stderr, "tiderace lab: %s\n", sentence.c_str());
    return status;
}

std::string date_of(const core::Clock& clock) {
    char room[rfc3339_bytes_max];
    return std::string(write_rfc3339(room, clock.unix_now(), 1));
}

// The progress of a run: a line for each cell, and on a terminal one below with what is left.
class ProgressPrinter {
  public:
    ProgressPrinter(Duration estimate, std::size_t cells)
        : start_(clock_.now()), estimate_(estimate), cells_(std::max<std::size_t>(1, cells)) {}

    void begin(const std::string& name) {
        line_.show("  " + std::to_string(done_ + 1) + " of " + std::to_string(cells_) + "   " +
                   name + "   " + left() + " left");
    }
    void end(const Cell& cell) {
        ++done_;
        line_.clear();
        const std::string where = report::heading_of(cell.workload, cell.connections);
        std::string what;
        if (report::has_figures(cell.state) && cell.answers > 0) {
            what = load::short_number(cell.cpu_us) + " µs, " + load::rate(cell.per_second) + "/s";
        } else if (report::has_figures(cell.state)) {
            what = load::bytes(static_cast<double>(cell.memory_bytes)) + " of memory";
        }
        if (cell.state != CellState::ok) {
            what += (what.empty() ? "" : "; ") + std::string(to_string(cell.state)) + ": " +
                    cell.reason;
        }
        std::printf("  %-28s %-16s %s\n", where.c_str(), cell.subject.c_str(), what.c_str());
        std::fflush(stdout);
    }
    double took() const { return load::in_seconds(clock_.now() - start_); }

  private:
    // By the pace so far, once there is one: servers that hang take their patience each, which no
    // plan knows.
    std::string left() const {
        const double part = static_cast<double>(done_) / static_cast<double>(cells_);
        const double planned = load::in_seconds(estimate_);
        const double whole = part > 0.05 ? took() / part : planned;
        return load::seconds(std::max(0.0, whole - took()));
    }

    core::SystemClock clock_;
    Instant start_;
    Duration estimate_;
    std::size_t cells_;
    std::size_t done_ = 0;
    load::ProgressLine line_{stdout};
};

// The workloads with a cell in this plan, and the workloads that no server can run, for their
// reasons; the latter only where the person has named none.
std::vector<report::Workload> listed_workloads(const Plan& plan, const RunOptions& options) {
    std::vector<report::Workload> told;
    for (std::size_t w = 0; w < workloads().size(); ++w) {
        const Workload& workload = workloads()[w];
        std::set<std::uint64_t> numbers;
        for (const PlannedCell& cell : plan.cells) {
            if (cell.workload == w) numbers.insert(cell.connections);
        }
        const bool is_told_absent = options.workloads.empty() && !workload.absent.empty();
        if (numbers.empty() && !is_told_absent) continue;
        told.push_back({.name = std::string(workload.name),
                        .about = std::string(workload.about),
                        .measure = std::string(workload.measure),
                        .load = numbers.empty() ? "" : load_command(workload),
                        .connections = {numbers.begin(), numbers.end()},
                        .absent = std::string(workload.absent)});
    }
    return told;
}

std::vector<std::uint64_t> widened(const std::vector<unsigned>& cpus) {
    return {cpus.begin(), cpus.end()};
}

// All that is decided before the first cell.
struct Setting {
    Placing placing;
    std::vector<RunSubject> subjects;
    Plan plan;
    report::Results results;
};

// The order matters: the CPUs are divided before a program is started, which inherits them, and the
// limits are raised (describe_machine()) before the plan counts on them.
Setting prepare(const RunOptions& options) {
    Setting setting;
    report::Results& results = setting.results;
    results.date = date_of(core::SystemClock());
    results.version = options.version;
    results.build = options.build;
    results.command = options.command;
    results.machine = describe_machine();
    setting.placing = place(usable_cpus());
    // Where this process cannot be bound, the servers are not either: one kept to half of the CPUs,
    // while the load takes all, would look slower than it is.
    if (!place_self(setting.placing.load)) setting.placing = {};
    results.pinning = {widened(setting.placing.server), widened(setting.placing.load)};
    results.quick = options.quick;
    setting.subjects = find_subjects(options.engines, options.version, setting.placing.server);
    const std::size_t loops = std::max<std::size_t>(
        1, setting.placing.server.empty() ? results.machine.cpus : setting.placing.server.size());
    // More connections would meet the server's refusal, and no engine's.
    setting.plan = plan_run(options, setting.subjects,
                            core::room_for_connections(results.machine.descriptors_max, loops));
    results.rounds = setting.plan.rounds;
    results.seconds = load::in_seconds(setting.plan.cell_time);
    results.notes = setting.plan.notes;
    if (setting.placing.server.empty()) {
        results.notes.push_back(
            "Nothing was pinned: server and load share the CPUs, and latency is "
            "inflated by the crowding.");
    }
    results.workloads = listed_workloads(setting.plan, options);
    for (const RunSubject& subject : setting.subjects) results.subjects.push_back(subject.facts);
    return setting;
}

std::string cpus_in_words(const std::vector<std::uint64_t>& cpus) {
    std::string text;
    for (const std::uint64_t cpu : cpus)
        text += (text.empty() ? "CPU " : ", ") + std::to_string(cpu);
    return text.empty() ? "any CPU" : text;
}

void print_plan(const Setting& setting) {
    const report::Results& results = setting.results;
    std::string names, loads;
    for (const RunSubject& subject : setting.subjects) {
        if (subject.facts.absent.empty()) names += " " + subject.facts.name;
    }
    for (const report::Workload& workload : results.workloads) {
        if (workload.absent.empty()) loads += " " + workload.name;
    }
    const Plan& plan = setting.plan;
    std::printf("servers   %s\nworkloads %s\ncells      %zu in %llu %s, %s of load each\n",
                names.c_str(), loads.c_str(), plan.to_run(),
                static_cast<unsigned long long>(plan.rounds), plan.rounds == 1 ? "round" : "rounds",
                load::readable(plan.cell_time).c_str());
    std::printf("pinned     server to %s, load to %s\ntime       about %s\n",
                cpus_in_words(results.pinning.server_cpus).c_str(),
                cpus_in_words(results.pinning.load_cpus).c_str(),
                load::seconds(load::in_seconds(plan.estimate)).c_str());
    for (const RunSubject& subject : setting.subjects) {
        if (subject.facts.absent.empty()) continue;
        std::printf("skipped    %s: %s\n", subject.facts.name.c_str(),
                    subject.facts.absent.c_str());
    }
    for (const report::Workload& workload : results.workloads) {
        if (workload.absent.empty()) continue;
        std::printf("skipped    %s: %s\n", workload.name.c_str(), workload.absent.c_str());
    }
    for (const std::string& note : results.notes) std::printf("note       %s\n", note.c_str());
    std::fflush(stdout);
}

int save(const std::string& folder, report::Results results) {
    const bool was_interrupted = results.interrupted;
    // First: the pages can be made from it again (tiderace lab report).
    auto written = report::write_file(folder, report::results_name, report::results_json(results));
    if (written) written = report::write_report(folder, std::move(results));
    if (!written) return complain(written.error().message(), 1);
    if (was_interrupted) std::puts("\ninterrupted; the results so far are in");
    std::printf("%s/index.html\n%s/report.md\n%s/results.json\n", folder.c_str(), folder.c_str(),
                folder.c_str());
    return was_interrupted ? 1 : 0;
}

}  // namespace

bool run_cells(const RunParts& parts, std::vector<Cell>& cells) {
    std::size_t done = 0;
    const std::size_t all = parts.plan->to_run();
    for (const PlannedCell& planned : parts.plan->cells) {
        const RunSubject& subject = (*parts.subjects)[planned.subject];
        const Workload& workload = workloads()[planned.workload];
        const Cell coming{.subject = subject.facts.name,
                          .workload = std::string(workload.name),
                          .connections = planned.connections,
                          .round = planned.round,
                          .state = CellState::skipped,
                          .reason = planned.skipped};
        if (!planned.skipped.empty()) {
            // Kept, so that the table explains why the place is empty.
            cells.push_back(coming);
            continue;
        }
        parts.told({&coming, done, all});
        auto cell = run_cell({.subject = &subject,
                              .workload = &workload,
                              .site = parts.site,
                              .connections = planned.connections,
                              .round = planned.round,
                              .time = parts.plan->cell_time,
                              .patience = parts.patience,
                              .load_threads = parts.load_threads,
                              .server_cpus = parts.server_cpus},
                             parts.wait);
        // A cell that was interrupted has measured a part of something, so it is left out.
        if (!cell || parts.wait(Duration::zero())) return false;
        cells.push_back(std::move(*cell));
        ++done;
        parts.told({&cells.back(), done, all});
    }
    return true;
}

int run(const RunOptions& options) {
    core::ignore_sigpipe();
    const std::string there = options.force ? "" : report::result_in(options.folder);
    if (!there.empty()) {
        return complain(options.folder + " holds " + there +
                            " already; --out DIR names another folder, --force writes over it",
                        2);
    }
    // Before any thread: they inherit the blocked signals.
    auto signals = core::Signals::open(std::array{SIGINT, SIGTERM, SIGHUP});
    if (!signals) return complain(signals.error().message(), 1);
    bool interrupted = false;
    // The signals' descriptor is what all of the run sleeps on, so that Ctrl-C ends each sleep.
    const Wait wait = [&](Duration time) {
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
        pollfd ready{signals->descriptor(), POLLIN, 0};
        if (!interrupted) ::poll(&ready, 1, static_cast<int>(ms));
        // Every one of them, and it stays so: all that waits, also in a cell's loops, ends at its
        // next wait().
        while (signals->next()) interrupted = true;
        return interrupted;
    };

    Setting setting = prepare(options);
    print_plan(setting);
    if (setting.plan.to_run() == 0) return complain("there is nothing to run", 1);
    const auto site = SiteFolder::make();
    if (!site) return complain(site.error().message(), 1);
    // Now, not after the hours of the run: results that cannot be written would be lost.
    if (const auto room = report::try_folder(options.folder); !room) {
        return complain(room.error().message(), 1);
    }
    ProgressPrinter telling(setting.plan.estimate, setting.plan.to_run());
    std::size_t done = 0;
    const auto told = [&](const CellTold& one) {
        if (one.done == done) {
            telling.begin(one.cell->subject + ", " + one.cell->workload);
        } else {
            done = one.done;
            telling.end(*one.cell);
        }
    };
    const Placing& placing = setting.placing;
    // The cells that were done are saved in any case: a run of half an hour may be wanted by then.
    setting.results.interrupted =
        !run_cells({.plan = &setting.plan,
                    .subjects = &setting.subjects,
                    .site = &*site,
                    .server_cpus = placing.server,
                    .load_threads = std::max<std::size_t>(1, placing.load.size()),
                    .wait = wait,
                    .told = told},
                   setting.results.cells);
    setting.results.took_seconds = telling.took();
    return save(options.folder, std::move(setting.results));
}

}  // namespace tiderace::lab::run

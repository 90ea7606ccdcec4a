#include "lab/run/plan.h"

#include <algorithm>
#include <set>

namespace tiderace::lab::run {
namespace {

constexpr Duration cell_time_least = 200ms;
constexpr Duration cell_time_most = 5s;

bool is_wanted(const std::vector<std::string>& names, std::string_view name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
}

// Connections of one workload in this run; two that become the same once scaled are one.
std::vector<std::uint64_t> connections_of(const Workload& workload, const RunOptions& options,
                                          std::uint64_t most, std::set<std::string>& notes) {
    // A quick run leaves out workloads without a quick number, unless they were named: then they
    // run as usual.
    const bool named = !options.workloads.empty();
    const auto& asked = options.quick && !(named && workload.quick_connections.empty())
                            ? workload.quick_connections
                            : workload.connections;
    std::set<std::uint64_t> numbers;
    for (const std::uint64_t number : asked) {
        if (number > most) {
            notes.insert("The limit on open files is too low for " + std::to_string(number) +
                         " connections: " + std::string(workload.name) + " runs with " +
                         std::to_string(most) + ".");
        }
        numbers.insert(std::min(number, most));
    }
    return {numbers.begin(), numbers.end()};
}

}  // namespace

std::size_t Plan::to_run() const {
    return static_cast<std::size_t>(
        std::ranges::count(cells, std::string(), &PlannedCell::skipped));
}

Duration overhead(std::uint64_t connections) {
    return 350ms + 150us * static_cast<std::int64_t>(connections);
}

// Known before it is run, and noted in the table: a cell of wrong answers would look like a fault
// of the server's.
std::string cannot(const RunSubject& subject, const Workload& workload) {
    if (!subject.serves_files && workload.parts.size() > 1) return "it has one answer only";
    for (const LoadPart& part : workload.parts) {
        if (part.echoes && !subject.echoes) return "it speaks HTTP only";
        if (part.pipeline > 1 && !subject.pipelines) {
            return "it gives pipelined requests one answer";
        }
        if (facts_of(part.file).bytes > subject.answer_bytes_max) {
            return "its answer can't be that long";
        }
    }
    return {};
}

Plan plan_run(const RunOptions& options, const std::vector<RunSubject>& subjects,
              std::uint64_t connections_most) {
    Plan plan;
    plan.rounds = options.rounds > 0 ? options.rounds : options.quick ? 1 : 3;
    std::set<std::string> notes;
    Duration besides = Duration::zero();
    // Rounds outside: what changes on the machine in half an hour (its temperature, other programs)
    // then meets all servers, and shows as a spread instead of as a rank.
    for (std::uint64_t round = 1; round <= plan.rounds; ++round) {
        // The first server after another workload pays for the kernel's new set-up.
        const std::size_t first = (round - 1) * subjects.size() / plan.rounds;
        for (std::size_t w = 0; w < workloads().size(); ++w) {
            const Workload& workload = workloads()[w];
            if (!workload.absent.empty() || !is_wanted(options.workloads, workload.name)) continue;
            for (const std::uint64_t number :
                 connections_of(workload, options, connections_most, notes)) {
                for (std::size_t turn = 0; turn < subjects.size(); ++turn) {
                    const std::size_t s = (first + turn) % subjects.size();
                    if (!subjects[s].facts.absent.empty()) continue;
                    plan.cells.push_back({s, w, number, round, cannot(subjects[s], workload)});
                    if (plan.cells.back().skipped.empty()) besides += overhead(number);
                }
            }
        }
    }
    plan.notes.assign(notes.begin(), notes.end());
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(1, plan.to_run()));
    // A run takes about as long whatever is in it: the more cells, the shorter each, within bounds.
    const Duration left = (options.quick ? quick_time : full_time) - besides;
    plan.cell_time = options.cell_time > Duration::zero()
                         ? options.cell_time
                         : std::clamp<Duration>(left / count, cell_time_least, cell_time_most);
    plan.estimate = besides + plan.cell_time * static_cast<std::int64_t>(plan.to_run());
    return plan;
}

}  // namespace tiderace::lab::run

#include "lab/report/story.h"

#include <algorithm>

#include "lab/report/portraits.h"
#include "lab/report/tables.h"
#include "load/figures.h"

namespace tiderace::lab::report::story {

std::string title(const Findings& findings) {
    const auto ran = std::ranges::count(findings.results.subjects, std::string(), &Subject::absent);
    return "One load, " + std::to_string(ran) + (ran == 1 ? " server" : " servers");
}

std::string facts(const Findings& findings) {
    const Results& results = findings.results;
    // The day alone: the time is in the table of the machine.
    std::string text = results.date.substr(0, 10);
    for (const std::string& part : {"Tiderace " + results.version, run_in_a_line(findings),
                                    results.machine.cpu, results.machine.kernel}) {
        if (!part.empty()) text += " · " + part;
    }
    return text;
}

namespace {

constexpr double clearly_cheaper = 0.95;  // of the default's cost; closer is within the scatter

// The cheapest of those wanted that held every client, or nullptr.
template <typename Wanted>
const CellSummary* cheapest(const Findings& findings, std::string_view workload, Wanted&& wanted) {
    const CellSummary* best = nullptr;
    for (const CellSummary& cell : findings.cells) {
        const auto subject =
            std::ranges::find(findings.results.subjects, cell.subject, &Subject::name);
        const bool counts = subject != findings.results.subjects.end() && wanted(*subject) &&
                            cell.workload == workload && cell.state == CellState::ok &&
                            cell.has_figures();
        if (counts && (!best || cell.cpu_us.median < best->cpu_us.median)) best = &cell;
    }
    return best;
}

bool is_opponent(const Subject& subject) {
    return subject.kind == SubjectKind::opponent;
}

// `tiderace serve` has the engines that are one loop over the kernel's interfaces; the others are
// there to be compared, and advice to serve with one of them would be refused.
bool is_for_serving(const Subject& subject) {
    return subject.kind == SubjectKind::engine && family_of(subject.name) == Family::kernel;
}

bool is_for_comparing(const Subject& subject) {
    return subject.kind == SubjectKind::engine && !is_for_serving(subject);
}

}  // namespace

std::string recommendation(const Findings& findings) {
    // Small answers on kept connections: where the engine is most of the cost. With large files it
    // is the copying, with a connection for each request the kernel, which is the same for all.
    constexpr std::string_view workload = "w1";
    const CellSummary* best = cheapest(findings, workload, is_for_serving);
    if (best == nullptr) return "";
    const CellSummary* usual = find(findings.cells, chosen_engine, workload, best->connections);
    const auto cost = [](const CellSummary& cell) {
        return load::short_number(cell.cpu_us.median) + " µs of CPU per answer";
    };
    // A default is not given up for what the next run may turn round.
    const bool usual_holds = usual && usual->state == CellState::ok && usual->has_figures() &&
                             best->cpu_us.median > usual->cpu_us.median * clearly_cheaper;
    std::string text = "Recommendation: ";
    if (usual_holds) {
        text += "keep the default, " + std::string(chosen_engine) + ": " + cost(*usual);
        if (best != usual) text += "; the cheapest, " + best->subject + ", is within 5 %";
    } else {
        text += "serve with --engine " + best->subject + ": " + cost(*best);
        if (usual && usual->has_figures()) {
            text += "; the default, " + std::string(chosen_engine) + ", takes " + cost(*usual);
        }
    }
    text += " in " + heading_of(best->workload, best->connections) + ".";
    const CellSummary* compared = cheapest(findings, workload, is_for_comparing);
    if (compared && compared->cpu_us.median < best->cpu_us.median * clearly_cheaper) {
        text += " The lab's " + compared->subject + ", which tiderace serve does not have, takes " +
                cost(*compared) + ".";
    }
    if (const CellSummary* other = cheapest(findings, workload, is_opponent)) {
        text += " The cheapest other server, " + other->subject + ", takes " + cost(*other) + ".";
    }
    return text;
}

// How it was measured, before the first figure: most published comparisons fail on one of these
// points (published.cc).
std::string opening(const Findings& findings) {
    const bool is_pinned = !findings.results.pinning.server_cpus.empty();
    std::string text =
        "The same requests, one server after the other, in rounds. The figure is the CPU "
        "time that an answer costs the server, and not answers a second: those say as much about "
        "the client. Every answer was checked; a single wrong one disqualifies a cell's "
        "figure.";
    return text + (is_pinned ? " The server has CPUs of its own, and so has the load."
                             : " Server and load share all CPUs here.");
}

std::vector<std::string> notes(const Findings& findings) {
    const Results& results = findings.results;
    std::vector<std::string> all;
    if (results.interrupted)
        all.push_back("This run was interrupted: what is missing was not run.");
    if (results.quick) {
        all.push_back(
            "A quick run: short cells, few rounds. Its figures tell a twofold difference "
            "from none, and not five percent.");
    }
    all.insert(all.end(), results.notes.begin(), results.notes.end());
    return all;
}

std::string glance_text(const Findings& findings) {
    return (findings.floor.empty() ? std::string("CPU microseconds for each answer.")
                                   : std::string("CPU time for each answer, as a multiple of the "
                                                 "floor's, in memory or by sendfile; in "
                                                 "microseconds, without ×, where no floor can do "
                                                 "the work.")) +
           " A star: it did not hold all clients; the figure covers those it held.";
}

std::string latency_workload(const Findings& findings) {
    const CellSummary* best = nullptr;
    for (const CellSummary& cell : findings.cells) {
        if (!cell.has_figures() || cell.latency.empty() || cell.workload == "idle") continue;
        // w1 is the plainest of the loads. Where it was not run, the first that has latencies.
        const bool is_first_choice = cell.workload == "w1";
        if (!best || is_first_choice) best = &cell;
        if (is_first_choice) break;
    }
    return best ? best->workload : std::string();
}

std::string latency_text(const Findings& findings) {
    const std::string name = latency_workload(findings);
    const auto cell = std::ranges::find(findings.cells, name, &CellSummary::workload);
    const std::string heading =
        cell == findings.cells.end() ? name : heading_of(name, cell->connections);
    return "Workload " + heading +
           ". Closed loop: each client waits for its answer before it asks again, so with many "
           "clients the median is their number divided by the answers a second, and what is worth "
           "reading is how much longer the slowest wait. epoll stands in every picture, dashed.";
}

// The headings that page.cc will have: a link to a part that is left out would lead nowhere.
std::vector<std::pair<std::string_view, std::string_view>> contents(const Findings& findings) {
    std::vector<std::pair<std::string_view, std::string_view>> all{{"glance", "At a glance"},
                                                                   {"cost", "Cost"}};
    if (!latency_workload(findings).empty()) all.emplace_back("latency", "Latency");
    if (!throughput_pictures(findings).empty()) {
        all.emplace_back("throughput", "Throughput");
        all.emplace_back("memory", "Memory");
    }
    if (!claims(findings).empty()) all.emplace_back("claims", "Claims");
    all.emplace_back("originals", "The originals");
    all.emplace_back("engines", "The engines");
    all.emplace_back("figures", "All figures");
    all.emplace_back("machine", "Machine");
    return all;
}

}  // namespace tiderace::lab::report::story

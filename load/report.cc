#include "load/report.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "load/figures.h"

namespace tiderace::load {
namespace {

// The value is not printed but appended: printed() cuts, and a list of errors may be long.
std::string row(const char* name, const std::string& value) {
    return printed("  %-12s ", name) + value + "\n";
}

// One line for each kind of client, with the same shares, so that they can be read against each
// other. "max" is exact: quantile() never passes the largest value.
std::string latency_rows(const char* name, const LatencyHistogram& histogram) {
    std::string line;
    for (const auto& [label, share] : load_quantiles) {
        line += std::string(line.empty() ? "" : "   ") + label + " " +
                readable(histogram.quantile(share));
    }
    return row(name, line);
}

// "3 refused, 1 timed out" of what is not zero.
template <typename Kind, std::size_t kinds>
std::string listed(const std::array<std::uint64_t, kinds>& counts) {
    std::string list;
    for (std::size_t i = 0; i < kinds; ++i) {
        if (counts[i] == 0) continue;
        list += (list.empty() ? "" : ", ") + with_commas(counts[i]) + " " +
                std::string(to_string(static_cast<Kind>(i)));
    }
    return list;
}

std::string headline(const LoadReport& report) {
    const LoadOptions& options = report.options;
    std::string line = std::string(options.verb()) + (options.echoes() ? "" : " ");
    line += options.url + ": " + with_commas(options.connections) + " connections, ";
    if (!options.echoes()) line += "HTTP/" + std::string(to_string(options.http)) + ", ";
    line += options.close ? "one for each request" : "kept alive";
    if (options.depth() > 1) line += ", " + std::to_string(options.depth()) + " requests deep";
    if (options.body_bytes > 0) {
        line += ", " + bytes(static_cast<double>(options.body_bytes)) + " each";
    }
    line += options.rate > 0 ? ", open loop at " + with_commas(options.rate) + "/s"
                             : std::string(", closed loop");
    if (options.ramp > Duration::zero()) line += " after " + readable(options.ramp);
    if (report.processes > 1) line += printed(", %zu processes", report.processes);
    line += printed(", %zu %s", report.threads, report.threads == 1 ? "loop" : "loops");
    // Each loop reports its engine with its figures: none did where all processes died.
    return line + (report.engine.empty() ? "\n" : " of " + report.engine + "\n");
}

// "" when no answer was right: a share of nothing is no figure.
std::string cpu_per_answer(Duration cpu, std::uint64_t answers) {
    if (answers == 0) return "";
    return printed("%.2f µs of CPU per answer, ", each_us(cpu, answers));
}

// "" for no time: all processes of the load died, and their clocks with them.
std::string share_of_a_cpu(Duration cpu, Duration time) {
    if (time <= Duration::zero()) return "";
    return printed("%.0f %% of a CPU, ", 100 * in_seconds(cpu) / in_seconds(time));
}

std::string what_was_right(const LoadTally& tally, const LoadOptions& options) {
    std::string line;
    if (!options.echoes()) line = printed("status %" PRIu64, options.expect_status);
    // The first right answer sets the length, so without one only the status is known.
    if (!tally.reference.known) return line.empty() ? "each message back" : line;
    if (!line.empty()) line += ", ";
    line += with_commas(tally.reference.length) + " bytes";
    if (options.check_hash) line += printed(", CRC-32 %08" PRIx32, tally.reference.hash);
    return line;
}

}  // namespace

std::uint64_t server_answers(const LoadReport& report) {
    // The progress that was seen may count answers of a process that died, and the tally does not.
    return report.tally.answers - std::min(report.tally.answers, report.answers_before_server);
}

Duration server_time(const LoadReport& report) {
    return std::max(Duration::zero(), report.elapsed - report.elapsed_before_server);
}

bool all_right(const LoadReport& report) {
    const LoadTally& tally = report.tally;
    // The member `ok` of --json, and the exit status of the program: a load without an answer, or
    // with figures that are missing, has measured nothing.
    return report.lost == 0 && tally.answers > 0 && tally.errors_total() == 0 &&
           tally.connect_errors_total() == 0 && !tally.references_differ;
}

// In the order in which they spoil the figures: a run without answers, answers that differ, fewer
// clients than requested, a load that was too slow itself.
std::vector<std::string> warnings(const LoadReport& report) {
    const LoadTally& tally = report.tally;
    std::vector<std::string> all = report.notes;
    if (report.lost > 0) {
        all.push_back(printed("%" PRIu64
                              " of %zu processes of the load died: their figures are missing",
                              report.lost, report.processes));
    }
    if (tally.answers == 0) all.push_back("no request was answered as expected");
    if (tally.references_differ) {
        all.push_back("the first answers of two loops differ: the length is not always the same");
    }
    if (tally.wrong_status != 0) {
        all.push_back(printed("wrong status: %d where %" PRIu64 " was expected (--expect-status)",
                              int{tally.wrong_status}, report.options.expect_status));
    }
    if (!tally.fault.empty()) {
        all.push_back("not HTTP: " + std::string(tally.fault));
    }
    // The server, or a limit of this machine, turned some away: the figures are of fewer clients
    // than the command requests.
    if (tally.open_max < tally.connections) {
        // For several loops it is a bound, see LoadTally::merge().
        all.push_back((report.threads > 1 ? "at most " : "only ") + with_commas(tally.open_max) +
                      " of " + with_commas(tally.connections) +
                      " connections were open at one time");
    }
    if (tally.starved > 0) {
        all.push_back(with_commas(tally.starved) + " connections got no right answer");
    }
    if (tally.never_sent > 0) {
        all.push_back(with_commas(tally.never_sent) +
                      " requests were due and never sent: no connection was free; their waiting "
                      "is in no figure below");
    }
    // Throughput is then the load's own. The CPU of the server for each answer still holds.
    if (report.busiest_loop >= busy_share) {
        all.push_back(
            printed("the load itself was the bottleneck: a loop of it used %.0f %% of a CPU; "
                    "give it more --threads, or read CPU per request only",
                    report.busiest_loop * 100));
    }
    return all;
}

std::string load_table(const LoadReport& report) {
    const LoadTally& tally = report.tally;
    std::string out = headline(report);
    out += row("answers", with_commas(tally.answers) +
                              printed(" right in %.2f s: ", in_seconds(report.elapsed)) +
                              with_commas(static_cast<std::uint64_t>(
                                  std::llround(per_second(tally.answers, report.elapsed)))) +
                              "/s" + (report.interrupted ? " (interrupted)" : ""));
    out += row("expected", what_was_right(tally, report.options));
    if (tally.latency.count() > 0) out += latency_rows("latency", tally.latency);
    if (tally.slow_latency.count() > 0) out += latency_rows("slow clients", tally.slow_latency);
    // In an open loop alone there is a time at which a request was due.
    if (report.options.rate > 0) out += row("sent late", "at most " + readable(tally.late_max));
    if (report.resumed > 0) out += row("TLS", with_commas(report.resumed) + " handshakes resumed");
    out += row("received", bytes(static_cast<double>(tally.received_bytes)) + ", " +
                               bytes(per_second(tally.received_bytes, report.elapsed)) + "/s");
    out += row("connections", with_commas(tally.connections) + " requested, " +
                                  with_commas(tally.opened) + " opened, at most " +
                                  with_commas(tally.open_max) + " at one time" +
                                  (report.threads > 1 ? " (each loop's most, added up)" : ""));
    out += row("requests",
               with_commas(tally.requests_min()) + " to " + with_commas(tally.per_connection_max) +
                   " answered per connection, " + with_commas(tally.starved) + " starved, " +
                   with_commas(tally.unanswered) + " under way at the end");
    const std::string wrong = listed<LoadError>(tally.errors);
    const std::string unopened = listed<ConnectError>(tally.connect_errors);
    out += row("errors", wrong.empty() ? "none" : wrong);
    if (!unopened.empty()) out += row("not opened", unopened);
    if (tally.resets > 0) out += row("reset", with_commas(tally.resets) + " connections");
    if (report.server) {
        out += row("server", cpu_per_answer(report.server->cpu, server_answers(report)) +
                                 share_of_a_cpu(report.server->cpu, server_time(report)) +
                                 bytes(static_cast<double>(report.server->memory_bytes)) +
                                 printed(" of memory, %zu %s", report.server->processes,
                                         report.server->processes == 1 ? "process" : "processes"));
    }
    out += row("this load", cpu_per_answer(report.own_cpu, tally.answers) +
                                printed("busiest loop %.0f %%", report.busiest_loop * 100));
    for (const std::string& warning : warnings(report)) out += "  note: " + warning + "\n";
    return out;
}

}  // namespace tiderace::load

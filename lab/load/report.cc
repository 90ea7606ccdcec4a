#include "lab/load/report.h"

#include <cinttypes>
#include <utility>

#include "lab/figures.h"

namespace tiderace::lab {
namespace {

std::string row(const char* name, const std::string& value) {
    return printed("  %-12s ", name) + value + "\n";
}

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
        list += (list.empty() ? "" : ", ") + std::to_string(counts[i]) + " " +
                std::string(to_string(static_cast<Kind>(i)));
    }
    return list;
}

std::string headline(const LoadReport& report) {
    const LoadOptions& options = report.options;
    std::string line = std::string(options.verb()) + (options.echoes() ? "" : " ");
    line += options.url + ": " + std::to_string(options.connections) + " connections, ";
    if (!options.echoes()) line += "HTTP/" + std::string(to_string(options.http)) + ", ";
    line += options.close ? "one for each request" : "kept alive";
    if (options.depth() > 1) line += ", " + std::to_string(options.depth()) + " requests deep";
    if (options.body_bytes > 0) {
        line += ", " + bytes(static_cast<double>(options.body_bytes)) + " each";
    }
    line += options.rate > 0 ? ", open loop at " + std::to_string(options.rate) + "/s"
                             : std::string(", closed loop");
    if (options.ramp > Duration::zero()) line += " after " + readable(options.ramp);
    if (report.processes > 1) line += printed(", %zu processes", report.processes);
    return line + printed(", %zu %s of %s\n", report.threads,
                          report.threads == 1 ? "loop" : "loops", report.engine.c_str());
}

std::string what_was_right(const LoadTally& tally, const LoadOptions& options) {
    if (!tally.reference.known) return "nothing";
    std::string line = printed("%" PRIu64 " bytes", tally.reference.length);
    if (!options.echoes()) line = printed("status %" PRIu64 ", ", options.expect_status) + line;
    if (options.check_hash) line += printed(", CRC-32 %08" PRIx32, tally.reference.hash);
    return line;
}

}  // namespace

bool all_right(const LoadReport& report) {
    const LoadTally& tally = report.tally;
    return report.lost == 0 && tally.answers > 0 && tally.errors_total() == 0 &&
           tally.connect_errors_total() == 0 && !tally.references_differ;
}

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
    if (tally.open_max < tally.connections) {
        all.push_back(printed("only %" PRIu64 " of %" PRIu64 " connections were open at one time",
                              tally.open_max, tally.connections));
    }
    if (tally.starved > 0) {
        all.push_back(printed("%" PRIu64 " connections got no answer at all", tally.starved));
    }
    if (tally.never_sent > 0) {
        all.push_back(printed("%" PRIu64
                              " requests were due and never sent: no connection was free; "
                              "their waiting is in no figure below",
                              tally.never_sent));
    }
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
    out += row("answers",
               printed("%" PRIu64 " right in %.2f s: %.0f/s%s", tally.answers,
                       in_seconds(report.elapsed), per_second(tally.answers, report.elapsed),
                       report.interrupted ? " (interrupted)" : ""));
    out += row("expected", what_was_right(tally, report.options));
    out += latency_rows("latency", tally.latency);
    if (tally.slow_latency.count() > 0) out += latency_rows("slow clients", tally.slow_latency);
    if (report.options.rate > 0) out += row("sent late", "at most " + readable(tally.late_max));
    if (report.resumed > 0)
        out += row("TLS", printed("%" PRIu64 " handshakes resumed", report.resumed));
    out += row("received", bytes(static_cast<double>(tally.received_bytes)) + ", " +
                               bytes(per_second(tally.received_bytes, report.elapsed)) + "/s");
    out += row("connections",
               printed("%" PRIu64 " asked for, %" PRIu64 " opened, at most %" PRIu64 " at one time",
                       tally.connections, tally.opened, tally.open_max));
    out += row("requests", printed("%" PRIu64 " to %" PRIu64 " answered per connection, %" PRIu64
                                   " starved, %" PRIu64 " under way at the end",
                                   tally.requests_min(), tally.per_connection_max, tally.starved,
                                   tally.unanswered));
    const std::string wrong = listed<LoadError>(tally.errors);
    const std::string unopened = listed<ConnectError>(tally.connect_errors);
    out += row("errors", wrong.empty() ? "none" : wrong);
    if (!unopened.empty()) out += row("not opened", unopened);
    if (tally.resets > 0) out += row("reset", printed("%" PRIu64 " connections", tally.resets));
    if (report.server) {
        out += row("server",
                   printed("%.2f µs of CPU per answer, %.0f %% of a CPU, ",
                           each_us(report.server->cpu, tally.answers),
                           100 * in_seconds(report.server->cpu) / in_seconds(report.elapsed)) +
                       bytes(static_cast<double>(report.server->memory_bytes)) +
                       printed(" of memory, %zu %s", report.server->processes,
                               report.server->processes == 1 ? "process" : "processes"));
    }
    out += row("this load",
               printed("%.2f µs of CPU per answer, busiest loop %.0f %%",
                       each_us(report.own_cpu, tally.answers), report.busiest_loop * 100));
    for (const std::string& warning : warnings(report)) out += "  note: " + warning + "\n";
    return out;
}

}  // namespace tiderace::lab

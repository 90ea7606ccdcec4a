#include "lab/load_report.h"

#include <array>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/json_escape.h"

namespace tiderace::lab {
namespace {

constexpr std::array<std::pair<const char*, double>, 6> quantiles{
    {{"p50", 0.5}, {"p75", 0.75}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1.0}}};

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
    std::array<char, 512> out;
    va_list values;
    va_start(values, format);
    std::vsnprintf(out.data(), out.size(), format, values);
    va_end(values);
    return out.data();
}

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

double per_second(std::uint64_t count, Duration elapsed) {
    return elapsed > Duration::zero() ? static_cast<double>(count) / seconds(elapsed) : 0;
}

// CPU microseconds for each right answer; 0 without one.
double each_us(Duration cpu, std::uint64_t answers) {
    return answers > 0 ? seconds(cpu) * 1e6 / static_cast<double>(answers) : 0;
}

std::string readable(Duration duration) {
    const double us = seconds(duration) * 1e6;
    if (us < 1'000) return text("%.0f us", us);
    return us < 1e6 ? text("%.2f ms", us / 1e3) : text("%.2f s", us / 1e6);
}

std::string readable_bytes(double bytes) {
    if (bytes < 1'000) return text("%.0f B", bytes);
    if (bytes < 1e6) return text("%.1f kB", bytes / 1e3);
    return bytes < 1e9 ? text("%.1f MB", bytes / 1e6) : text("%.2f GB", bytes / 1e9);
}

std::string row(const char* name, const std::string& value) {
    return text("  %-12s ", name) + value + "\n";
}

std::string quoted(std::string_view value) {
    std::string room(value.size() * http::wire::json_growth_max + 1, '\0');
    http::wire::BoundedText out{std::span<char>(room)};
    http::wire::append_json(out, value);
    return '"' + std::string(out.view()) + '"';
}

std::string latency_rows(const char* name, const LatencyHistogram& histogram) {
    std::string line;
    for (const auto& [label, share] : quantiles) {
        line += std::string(line.empty() ? "" : "   ") + label + " " +
                readable(histogram.quantile(share));
    }
    return row(name, line);
}

std::string latency_json(const LatencyHistogram& histogram) {
    std::string json =
        text("{\"count\":%" PRIu64 ",\"min\":%" PRId64 ",\"mean\":%" PRId64, histogram.count(),
             std::int64_t{histogram.min().count()}, std::int64_t{histogram.mean().count()});
    for (const auto& [label, share] : quantiles) {
        json += text(",\"%s\":%" PRId64, label, std::int64_t{histogram.quantile(share).count()});
    }
    return json + "}";
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

template <typename Kind, std::size_t kinds>
std::string counted_json(const std::array<std::uint64_t, kinds>& counts) {
    std::string json;
    for (std::size_t i = 0; i < kinds; ++i) {
        json += (json.empty() ? "" : ",") + quoted(to_string(static_cast<Kind>(i))) + ":" +
                std::to_string(counts[i]);
    }
    return "{" + json + "}";
}

std::uint64_t least(const LoadTally& tally) {
    return tally.connections > 0 ? tally.per_connection_min : 0;
}

std::string headline(const LoadReport& report) {
    const LoadOptions& options = report.options;
    std::string line = options.method + " " + options.url + ": " +
                       std::to_string(options.connections) + " connections, ";
    line += options.close ? "one for each request" : "kept alive";
    if (options.pipeline > 1) line += ", " + std::to_string(options.pipeline) + " requests deep";
    line += options.rate > 0 ? ", open loop at " + std::to_string(options.rate) + "/s"
                             : std::string(", closed loop");
    return line + text(", %zu %s of %s\n", report.threads, report.threads == 1 ? "loop" : "loops",
                       report.engine.c_str());
}

std::string what_was_right(const LoadTally& tally, const LoadOptions& options) {
    if (!tally.reference.known) return "nothing";
    std::string line = text("status %" PRIu64 ", %" PRIu64 " bytes", options.expect_status,
                            tally.reference.length);
    if (options.check_hash) line += text(", CRC-32 %08" PRIx32, tally.reference.hash);
    return line;
}

}  // namespace

bool all_right(const LoadReport& report) {
    const LoadTally& tally = report.tally;
    return tally.answers > 0 && tally.errors_total() == 0 && tally.connect_errors_total() == 0 &&
           !tally.references_differ;
}

std::vector<std::string> warnings(const LoadReport& report) {
    const LoadTally& tally = report.tally;
    std::vector<std::string> all = report.notes;
    if (tally.answers == 0) all.push_back("no request was answered as expected");
    if (tally.references_differ) {
        all.push_back("the first answers of two loops differ: the length is not always the same");
    }
    if (tally.wrong_status != 0) {
        all.push_back(text("wrong status: %d where %" PRIu64 " was expected (--expect-status)",
                           int{tally.wrong_status}, report.options.expect_status));
    }
    if (tally.fault != http::wire::ResponseFault::none) {
        all.push_back("not HTTP: " + std::string(to_string(tally.fault)));
    }
    if (tally.open_max < tally.connections) {
        all.push_back(text("only %" PRIu64 " of %" PRIu64 " connections were open at one time",
                           tally.open_max, tally.connections));
    }
    if (tally.starved > 0) {
        all.push_back(text("%" PRIu64 " connections got no answer at all", tally.starved));
    }
    if (tally.never_sent > 0) {
        all.push_back(text("%" PRIu64 " requests were due and never sent: no connection was free; "
                           "their waiting is in no figure below",
                           tally.never_sent));
    }
    if (report.busiest_loop >= busy_share) {
        all.push_back(
            text("the load itself was the bottleneck: a loop of it used %.0f %% of a CPU; "
                 "give it more --threads, or read CPU per request only",
                 report.busiest_loop * 100));
    }
    return all;
}

std::string load_table(const LoadReport& report) {
    const LoadTally& tally = report.tally;
    std::string out = headline(report);
    out += row("answers", text("%" PRIu64 " right in %.2f s: %.0f/s%s", tally.answers,
                               seconds(report.elapsed), per_second(tally.answers, report.elapsed),
                               report.interrupted ? " (interrupted)" : ""));
    out += row("expected", what_was_right(tally, report.options));
    out += latency_rows("latency", tally.latency);
    if (tally.slow_latency.count() > 0) out += latency_rows("slow readers", tally.slow_latency);
    if (report.options.rate > 0) out += row("sent late", "at most " + readable(tally.late_max));
    out += row("received", readable_bytes(static_cast<double>(tally.received_bytes)) + ", " +
                               readable_bytes(per_second(tally.received_bytes, report.elapsed)) +
                               "/s");
    out += row("connections",
               text("%" PRIu64 " asked for, %" PRIu64 " opened, at most %" PRIu64 " at one time",
                    tally.connections, tally.opened, tally.open_max));
    out += row("requests",
               text("%" PRIu64 " to %" PRIu64 " answered per connection, %" PRIu64
                    " starved, %" PRIu64 " under way at the end",
                    least(tally), tally.per_connection_max, tally.starved, tally.unanswered));
    const std::string wrong = listed<LoadError>(tally.errors);
    const std::string unopened = listed<ConnectError>(tally.connect_errors);
    out += row("errors", wrong.empty() ? "none" : wrong);
    if (!unopened.empty()) out += row("not opened", unopened);
    if (report.server) {
        out += row("server", text("%.2f us of CPU per answer, %.0f %% of a CPU, ",
                                  each_us(report.server->cpu, tally.answers),
                                  100 * seconds(report.server->cpu) / seconds(report.elapsed)) +
                                 readable_bytes(static_cast<double>(report.server->memory_bytes)) +
                                 text(" of memory, %zu %s", report.server->processes,
                                      report.server->processes == 1 ? "process" : "processes"));
    }
    out +=
        row("this load", text("%.2f us of CPU per answer, busiest loop %.0f %%",
                              each_us(report.own_cpu, tally.answers), report.busiest_loop * 100));
    for (const std::string& warning : warnings(report)) out += "  note: " + warning + "\n";
    return out;
}

std::string load_json(const LoadReport& report) {
    const LoadTally& tally = report.tally;
    const LoadOptions& options = report.options;
    std::string out = "{\"url\":" + quoted(options.url) + ",\"method\":" + quoted(options.method);
    out += text(",\"close\":%s,\"pipeline\":%" PRIu64 ",\"rate\":%" PRIu64 ",\"threads\":%zu",
                options.close ? "true" : "false", options.pipeline, options.rate, report.threads);
    out += ",\"engine\":" + quoted(report.engine);
    out += text(",\"source_addresses\":%zu,\"interrupted\":%s,\"ok\":%s", report.source_addresses,
                report.interrupted ? "true" : "false", all_right(report) ? "true" : "false");
    out +=
        text(",\"elapsed_s\":%.6f,\"answers\":%" PRIu64 ",\"sent\":%" PRIu64 ",\"per_second\":%.2f",
             seconds(report.elapsed), tally.answers, tally.sent,
             per_second(tally.answers, report.elapsed));
    out += text(",\"received_bytes\":%" PRIu64 ",\"body_bytes\":%" PRIu64 ",\"unanswered\":%" PRIu64
                ",\"never_sent\":%" PRIu64 ",\"late_max_ns\":%" PRId64,
                tally.received_bytes, tally.body_bytes, tally.unanswered, tally.never_sent,
                std::int64_t{tally.late_max.count()});
    out += ",\"latency_ns\":" + latency_json(tally.latency);
    out += ",\"slow_latency_ns\":" + latency_json(tally.slow_latency);
    out += ",\"errors\":" + counted_json<LoadError>(tally.errors);
    out +=
        text(",\"connections\":{\"asked\":%" PRIu64 ",\"opened\":%" PRIu64 ",\"open_max\":%" PRIu64
             ",\"starved\":%" PRIu64 ",\"requests_min\":%" PRIu64 ",\"requests_max\":%" PRIu64,
             tally.connections, tally.opened, tally.open_max, tally.starved, least(tally),
             tally.per_connection_max);
    out += ",\"errors\":" + counted_json<ConnectError>(tally.connect_errors) + "}";
    if (tally.reference.known) {
        out += text(",\"expected\":{\"status\":%" PRIu64 ",\"length\":%" PRIu64,
                    options.expect_status, tally.reference.length);
        if (options.check_hash) out += text(",\"crc32\":\"%08" PRIx32 "\"", tally.reference.hash);
        out += "}";
    }
    if (report.server) {
        out +=
            text(",\"server\":{\"cpu_s\":%.2f,\"cpu_us_per_answer\":%.3f,\"memory_bytes\":%" PRIu64
                 ",\"processes\":%zu}",
                 seconds(report.server->cpu), each_us(report.server->cpu, tally.answers),
                 report.server->memory_bytes, report.server->processes);
    }
    out +=
        text(",\"load\":{\"cpu_s\":%.6f,\"cpu_us_per_answer\":%.3f,\"busiest_loop\":%.3f}",
             seconds(report.own_cpu), each_us(report.own_cpu, tally.answers), report.busiest_loop);
    std::string notes;
    for (const std::string& warning : warnings(report)) {
        notes += (notes.empty() ? "" : ",") + quoted(warning);
    }
    return out + ",\"notes\":[" + notes + "]}\n";
}

}  // namespace tiderace::lab

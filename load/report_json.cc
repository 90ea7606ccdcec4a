// The report as one line of JSON. Programs read it: names stay, new ones may come, and load_schema
// changes only where the meaning of an old one does (docs/load.md).
#include <array>
#include <cinttypes>

#include "load/figures.h"
#include "load/json_text.h"
#include "load/report.h"

namespace tiderace::load {
namespace {

constexpr std::uint64_t load_schema = 1;

template <typename Kind, std::size_t kinds>
std::string counted(const std::array<std::uint64_t, kinds>& counts) {
    JsonObject json;
    for (std::size_t i = 0; i < kinds; ++i) json.add(to_string(static_cast<Kind>(i)), counts[i]);
    return json.text();
}

std::string latency(const LatencyHistogram& histogram) {
    JsonObject json;
    json.add("count", histogram.count()).add("min", histogram.min()).add("mean", histogram.mean());
    for (const auto& [label, share] : load_quantiles) json.add(label, histogram.quantile(share));
    JsonList bars;
    for (const LatencyHistogram::Bar& bar : histogram.bars()) {
        const auto value = static_cast<std::uint64_t>(bar.value.count());
        // The whole histogram: quantiles of several runs cannot be added up, and buckets can.
        bars.add_json(JsonList().add(value).add(bar.count).text());
    }
    return json.add_json("histogram", bars.text()).text();
}

// The options as they were run, defaults included: a file of figures without them can be compared
// with nothing.
std::string config(const LoadReport& report) {
    const LoadOptions& options = report.options;
    JsonObject json;
    json.add("connections", options.connections).add("requests", options.requests);
    json.add("duration_s", in_seconds(options.duration), 3);
    json.add("rate", options.rate).add("ramp_s", in_seconds(options.ramp), 3);
    json.add("http", options.echoes() ? "" : to_string(options.http)).add("method", options.verb());
    json.add("body_bytes", options.body_bytes).add_flag("close", options.close);
    json.add("pipeline", options.pipeline).add("streams", options.streams);
    json.add_flag("verified", !options.insecure).add_flag("resume", options.resume);
    json.add("think_s", in_seconds(options.think), 6);
    json.add("slow_readers", options.slow_readers).add("slow_rate", options.slow_rate);
    json.add("slow_senders", options.slow_senders).add("slow_send_rate", options.slow_send_rate);
    json.add("slow_drips", to_string(options.slow_drips));
    json.add("timeout_s", in_seconds(options.timeout), 3);
    json.add("expect_status", options.expect_status).add_flag("check_hash", options.check_hash);
    json.add("engine", options.engine).add("processes", report.processes);
    return json.add("threads", report.threads).text();
}

std::string connections(const LoadTally& tally) {
    const auto failed = [&](ConnectError kind) {
        return tally.connect_errors[static_cast<std::size_t>(kind)];
    };
    JsonObject json;
    json.add("asked", tally.connections).add("opened", tally.opened);
    json.add("open_max", tally.open_max).add("refused", failed(ConnectError::refused));
    json.add("reset", tally.resets).add("starved", tally.starved);
    json.add("requests_min", tally.requests_min());
    json.add("requests_max", tally.per_connection_max);
    return json.add_json("errors", counted<ConnectError>(tally.connect_errors)).text();
}

std::string expected(const LoadReport& report) {
    JsonObject json;
    json.add("status", report.options.expect_status);
    json.add("length", report.tally.reference.length);
    if (report.options.check_hash)
        json.add("crc32", printed("%08" PRIx32, report.tally.reference.hash));
    return json.text();
}

// Whole ones beside the seconds: a reader that adds them up has no rounding.
std::uint64_t microseconds(Duration duration) {
    return static_cast<std::uint64_t>(duration / 1us);
}

std::string server(const ServerUse& use, std::uint64_t answers) {
    JsonObject json;
    json.add("cpu_s", in_seconds(use.cpu), 6).add("cpu_us", microseconds(use.cpu));
    json.add("cpu_us_per_answer", each_us(use.cpu, answers), 3);
    json.add("memory_bytes", use.memory_bytes);
    return json.add("processes", use.processes).text();
}

std::string load_itself(const LoadReport& report) {
    JsonObject json;
    json.add("cpu_s", in_seconds(report.own_cpu), 6).add("cpu_us", microseconds(report.own_cpu));
    json.add("cpu_us_per_answer", each_us(report.own_cpu, report.tally.answers), 3);
    json.add("handshakes_resumed", report.resumed);
    return json.add("busiest_loop", report.busiest_loop, 3).text();
}

void add_totals(JsonObject& json, const LoadReport& report) {
    const LoadTally& tally = report.tally;
    json.add("elapsed_s", in_seconds(report.elapsed), 6).add("answers", tally.answers);
    json.add("sent", tally.sent);
    json.add("per_second", per_second(tally.answers, report.elapsed), 2);
    json.add("received_bytes", tally.received_bytes).add("sent_bytes", tally.sent_bytes);
    json.add("body_bytes", tally.body_bytes).add("unanswered", tally.unanswered);
    json.add("never_sent", tally.never_sent).add("late_max_ns", tally.late_max);
}

}  // namespace

std::string load_json(const LoadReport& report) {
    const LoadTally& tally = report.tally;
    const LoadOptions& options = report.options;
    JsonObject json;
    json.add("schema", load_schema).add("url", options.url).add("method", options.verb());
    json.add_flag("close", options.close).add("pipeline", options.pipeline);
    json.add("rate", options.rate).add("threads", report.threads).add("engine", report.engine);
    json.add("processes", report.processes).add("source_addresses", report.source_addresses);
    json.add_json("config", config(report)).add_flag("interrupted", report.interrupted);
    json.add_flag("ok", all_right(report)).add("processes_lost", report.lost);
    add_totals(json, report);
    json.add_json("latency_ns", latency(tally.latency));
    json.add_json("slow_latency_ns", latency(tally.slow_latency));
    json.add_json("errors", counted<LoadError>(tally.errors));
    json.add_json("connections", connections(tally));
    // Without a right answer there is none, and zeros would read as one of no bytes.
    if (tally.reference.known) json.add_json("expected", expected(report));
    if (report.server) json.add_json("server", server(*report.server, server_answers(report)));
    json.add_json("load", load_itself(report));
    JsonList notes;
    for (const std::string& warning : warnings(report)) notes.add(warning);
    return json.add_json("notes", notes.text()).text() + "\n";
}

}  // namespace tiderace::load

#include "lab/report/results_json.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "lab/report/json_value.h"

namespace tiderace::lab::report {
namespace {

constexpr std::string_view format_name = "tiderace-lab-results";

// ---- to JSON ------------------------------------------------------------------------------------

template <typename T>
JsonValue list_of(const std::vector<T>& elements) {
    JsonValue::List list;
    for (const T& element : elements) list.emplace_back(element);
    return JsonValue(std::move(list));
}

JsonValue to_json(const std::vector<LatencyPoint>& curve) {
    JsonValue::List list;
    for (const LatencyPoint& point : curve) {
        list.emplace_back(JsonValue::List{JsonValue(point.share), JsonValue(point.us)});
    }
    return JsonValue(std::move(list));
}

JsonValue to_json(const Cell& cell) {
    JsonValue out = JsonValue::object();
    out.set("subject", cell.subject).set("workload", cell.workload);
    out.set("connections", cell.connections).set("round", cell.round);
    out.set("state", to_string(cell.state));
    if (!cell.reason.empty()) out.set("reason", cell.reason);
    if (cell.state == CellState::skipped) return out;
    out.set("seconds", cell.seconds).set("answers", cell.answers);
    out.set("per_second", cell.per_second).set("cpu_us", cell.cpu_us);
    out.set("cpu_share", cell.cpu_share).set("load_share", cell.load_share);
    out.set("memory_bytes", cell.memory_bytes);
    out.set("memory_before_bytes", cell.memory_before_bytes);
    out.set("opened", cell.opened).set("open_max", cell.open_max).set("starved", cell.starved);
    out.set("opened_per_second", cell.opened_per_second);
    if (!cell.errors.empty()) {
        JsonValue errors = JsonValue::object();
        for (const auto& [name, count] : cell.errors) errors.set(name, count);
        out.set("errors", std::move(errors));
    }
    out.set("latency_us", to_json(cell.latency));
    if (!cell.slow_latency.empty()) out.set("slow_latency_us", to_json(cell.slow_latency));
    if (!cell.notes.empty()) out.set("notes", list_of(cell.notes));
    return out;
}

JsonValue to_json(const Subject& subject) {
    JsonValue out = JsonValue::object();
    out.set("name", subject.name).set("kind", to_string(subject.kind));
    if (!subject.what.empty()) out.set("what", subject.what);
    if (!subject.version.empty()) out.set("version", subject.version);
    if (!subject.command.empty()) out.set("command", subject.command);
    if (!subject.absent.empty()) out.set("absent", subject.absent);
    return out;
}

JsonValue to_json(const Workload& workload) {
    JsonValue out = JsonValue::object();
    out.set("name", workload.name).set("about", workload.about);
    out.set("measure", workload.measure);
    if (!workload.load.empty()) out.set("load", workload.load);
    if (!workload.connections.empty()) out.set("connections", list_of(workload.connections));
    if (!workload.absent.empty()) out.set("absent", workload.absent);
    return out;
}

JsonValue to_json(const Machine& machine) {
    JsonValue out = JsonValue::object();
    out.set("cpu", machine.cpu).set("cpus", machine.cpus).set("kernel", machine.kernel);
    out.set("memory_bytes", machine.memory_bytes);
    if (!machine.governor.empty()) out.set("governor", machine.governor);
    return out.set("descriptors_max", machine.descriptors_max);
}

template <typename T>
JsonValue all_to_json(const std::vector<T>& elements) {
    JsonValue::List list;
    for (const T& element : elements) list.push_back(to_json(element));
    return JsonValue(std::move(list));
}

// ---- and back -----------------------------------------------------------------------------------

std::vector<std::string> texts(const JsonValue& list) {
    std::vector<std::string> found;
    for (const JsonValue& element : list.list()) found.push_back(element.text());
    return found;
}

std::vector<std::uint64_t> counts(const JsonValue& list) {
    std::vector<std::uint64_t> found;
    for (const JsonValue& element : list.list()) found.push_back(element.count());
    return found;
}

std::vector<LatencyPoint> curve(const JsonValue& list) {
    std::vector<LatencyPoint> points;
    for (const JsonValue& point : list.list()) {
        if (point.list().size() != 2) continue;
        points.push_back({point.list()[0].number(), point.list()[1].number()});
    }
    return points;
}

std::expected<Cell, std::string> to_cell(const JsonValue& from) {
    Cell cell;
    cell.subject = from["subject"].text();
    cell.workload = from["workload"].text();
    cell.connections = from["connections"].count();
    cell.round = from["round"].count();
    const std::string state = from["state"].text();
    const auto known = cell_state(state);
    if (!known) return std::unexpected("a cell's state is \"" + state + "\"");
    cell.state = *known;
    cell.reason = from["reason"].text();
    cell.seconds = from["seconds"].number();
    cell.answers = from["answers"].count();
    cell.per_second = from["per_second"].number();
    cell.cpu_us = from["cpu_us"].number();
    cell.cpu_share = from["cpu_share"].number();
    cell.load_share = from["load_share"].number();
    cell.memory_bytes = from["memory_bytes"].count();
    cell.memory_before_bytes = from["memory_before_bytes"].count();
    cell.opened = from["opened"].count();
    cell.open_max = from["open_max"].count();
    cell.starved = from["starved"].count();
    cell.opened_per_second = from["opened_per_second"].number();
    for (const auto& [name, count] : from["errors"].members()) {
        cell.errors.emplace_back(name, count.count());
    }
    cell.latency = curve(from["latency_us"]);
    cell.slow_latency = curve(from["slow_latency_us"]);
    cell.notes = texts(from["notes"]);
    return cell;
}

Subject to_subject(const JsonValue& from) {
    const std::string kind = from["kind"].text();
    return {.name = from["name"].text(),
            .kind = kind == "floor"      ? SubjectKind::floor
                    : kind == "opponent" ? SubjectKind::opponent
                                         : SubjectKind::engine,
            .what = from["what"].text(),
            .version = from["version"].text(),
            .command = from["command"].text(),
            .absent = from["absent"].text()};
}

Workload to_workload(const JsonValue& from) {
    return {.name = from["name"].text(),
            .about = from["about"].text(),
            .measure = from["measure"].text("cpu_us"),
            .load = from["load"].text(),
            .connections = counts(from["connections"]),
            .absent = from["absent"].text()};
}

}  // namespace

std::string results_json(const Results& results) {
    JsonValue out = JsonValue::object();
    out.set("format", format_name).set("format_version", Results::format_version);
    out.set("date", results.date).set("version", results.version).set("build", results.build);
    out.set("command", results.command);
    out.set("machine", to_json(results.machine));
    JsonValue pinning = JsonValue::object();
    pinning.set("server_cpus", list_of(results.pinning.server_cpus));
    pinning.set("load_cpus", list_of(results.pinning.load_cpus));
    out.set("pinning", std::move(pinning));
    out.set("quick", results.quick).set("interrupted", results.interrupted);
    out.set("rounds", results.rounds).set("seconds", results.seconds);
    out.set("took_seconds", results.took_seconds);
    out.set("notes", list_of(results.notes));
    out.set("subjects", all_to_json(results.subjects));
    out.set("workloads", all_to_json(results.workloads));
    out.set("cells", all_to_json(results.cells));
    return out.write(true) + "\n";
}

std::expected<Results, std::string> parse_results(std::string_view text) {
    const auto parsed = JsonValue::parse(text);
    if (!parsed) return std::unexpected("not JSON: " + parsed.error());
    const JsonValue& from = *parsed;
    if (from["format"].text() != format_name) {
        return std::unexpected("not the results of a run: its format is not " +
                               std::string(format_name));
    }
    const std::uint64_t version = from["format_version"].count();
    if (version != Results::format_version) {
        return std::unexpected("of format version " + std::to_string(version) +
                               "; this program reads version " +
                               std::to_string(Results::format_version));
    }
    Results results;
    results.date = from["date"].text();
    results.version = from["version"].text();
    results.build = from["build"].text();
    results.command = from["command"].text();
    const JsonValue& machine = from["machine"];
    results.machine = {.cpu = machine["cpu"].text(),
                       .cpus = machine["cpus"].count(),
                       .kernel = machine["kernel"].text(),
                       .memory_bytes = machine["memory_bytes"].count(),
                       .governor = machine["governor"].text(),
                       .descriptors_max = machine["descriptors_max"].count()};
    results.pinning = {.server_cpus = counts(from["pinning"]["server_cpus"]),
                       .load_cpus = counts(from["pinning"]["load_cpus"])};
    results.quick = from["quick"].flag();
    results.interrupted = from["interrupted"].flag();
    results.rounds = from["rounds"].count();
    results.seconds = from["seconds"].number();
    results.took_seconds = from["took_seconds"].number();
    results.notes = texts(from["notes"]);
    for (const JsonValue& one : from["subjects"].list()) {
        results.subjects.push_back(to_subject(one));
    }
    for (const JsonValue& one : from["workloads"].list()) {
        results.workloads.push_back(to_workload(one));
    }
    for (const JsonValue& one : from["cells"].list()) {
        auto cell = to_cell(one);
        if (!cell) return std::unexpected(std::move(cell.error()));
        results.cells.push_back(std::move(*cell));
    }
    return results;
}

Result<> write_file(const std::string& folder, std::string_view name, std::string_view text) {
    const std::string path = folder + "/" + std::string(name);
    const std::string beside = path + ".new";
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) return fail(Error(failure.value(), "make folder", folder));
    std::FILE* file = std::fopen(beside.c_str(), "wb");
    if (file == nullptr) return fail(Error::last("write", beside));
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const Error reason = Error::last("write", beside);
    if (std::fclose(file) != 0 || !written) {
        std::remove(beside.c_str());
        return fail(written ? Error::last("write", beside) : reason);
    }
    if (std::rename(beside.c_str(), path.c_str()) != 0) return fail(Error::last("write", path));
    return {};
}

std::expected<Results, std::string> read_results(const std::string& folder) {
    const std::string path = folder + "/" + std::string(results_name);
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        return std::unexpected(path + ": cannot be read; tiderace lab run --out " + folder +
                               " writes it");
    }
    auto results = parse_results(std::move(text).str());
    if (!results) return std::unexpected(path + ": " + results.error());
    return results;
}

}  // namespace tiderace::lab::report

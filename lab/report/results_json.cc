#include "lab/report/results_json.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "load/json_text.h"

namespace tiderace::lab::report {
namespace {

std::string to_json(const std::vector<std::uint64_t>& counts) {
    load::JsonList list;
    for (const std::uint64_t count : counts) list.add(count);
    return list.text();
}

std::string to_json(const std::vector<std::string>& texts, unsigned indent = 0) {
    load::JsonList list(indent);
    for (const std::string& text : texts) list.add(text);
    return list.text();
}

std::string to_json(const std::vector<LatencyPoint>& curve) {
    load::JsonList list;
    for (const LatencyPoint& point : curve) {
        list.add_json(load::JsonList().add_number(point.share).add_number(point.us).text());
    }
    return list.text();
}

void add_figures(load::JsonObject& out, const Cell& cell) {
    out.add_number("seconds", cell.seconds).add("answers", cell.answers);
    out.add_number("per_second", cell.per_second).add_number("cpu_us", cell.cpu_us);
    out.add_number("cpu_share", cell.cpu_share).add_number("load_share", cell.load_share);
    out.add("memory_bytes", cell.memory_bytes);
    out.add("memory_before_bytes", cell.memory_before_bytes);
    out.add("opened", cell.opened).add("open_max", cell.open_max).add("starved", cell.starved);
    out.add_number("opened_per_second", cell.opened_per_second);
    if (!cell.errors.empty()) {
        load::JsonObject errors;
        for (const auto& [name, count] : cell.errors) errors.add(name, count);
        out.add_json("errors", errors.text());
    }
    // Empty in a cell without a right answer: a curve of nothing, and no curve of zeros.
    out.add_json("latency_us", to_json(cell.latency));
    if (!cell.slow_latency.empty()) out.add_json("slow_latency_us", to_json(cell.slow_latency));
    if (!cell.notes.empty()) out.add_json("notes", to_json(cell.notes));
}

std::string to_json(const Cell& cell) {
    load::JsonObject out;
    out.add("subject", cell.subject).add("workload", cell.workload);
    out.add("connections", cell.connections).add("round", cell.round);
    out.add("state", to_string(cell.state));
    if (!cell.reason.empty()) out.add("reason", cell.reason);
    // Nothing was measured: zeros would read as figures.
    if (cell.state != CellState::skipped) add_figures(out, cell);
    return out.text();
}

std::string to_json(const Subject& subject) {
    load::JsonObject out;
    out.add("name", subject.name).add("kind", to_string(subject.kind));
    if (!subject.what.empty()) out.add("what", subject.what);
    if (!subject.version.empty()) out.add("version", subject.version);
    if (!subject.command.empty()) out.add("command", subject.command);
    if (!subject.absent.empty()) out.add("absent", subject.absent);
    return out.text();
}

std::string to_json(const Workload& workload) {
    load::JsonObject out;
    out.add("name", workload.name).add("about", workload.about);
    out.add("measure", workload.measure);
    if (!workload.load.empty()) out.add("load", workload.load);
    if (!workload.connections.empty()) {
        out.add_json("connections", to_json(workload.connections));
    }
    if (!workload.absent.empty()) out.add("absent", workload.absent);
    return out.text();
}

std::string to_json(const Machine& machine, unsigned indent) {
    load::JsonObject out(indent);
    out.add("cpu", machine.cpu).add("cpus", machine.cpus).add("kernel", machine.kernel);
    out.add("memory_bytes", machine.memory_bytes);
    if (!machine.governor.empty()) out.add("governor", machine.governor);
    return out.add("descriptors_max", machine.descriptors_max).text();
}

std::string to_json(const Pinning& pinning, unsigned indent) {
    load::JsonObject out(indent);
    out.add_json("server_cpus", to_json(pinning.server_cpus));
    return out.add_json("load_cpus", to_json(pinning.load_cpus)).text();
}

template <typename T>
std::string all_to_json(const std::vector<T>& elements, unsigned indent) {
    load::JsonList list(indent);
    for (const T& element : elements) list.add_json(to_json(element));
    return list.text();
}

}  // namespace

std::string results_json(const Results& results) {
    // A line for each server, workload and cell.
    constexpr unsigned outer = 2, inner = 4;
    load::JsonObject out(outer);
    out.add("format", results_format).add("format_version", Results::format_version);
    out.add("date", results.date).add("version", results.version).add("build", results.build);
    out.add("command", results.command);
    out.add_json("machine", to_json(results.machine, inner));
    out.add_json("pinning", to_json(results.pinning, inner));
    out.add_flag("quick", results.quick).add_flag("interrupted", results.interrupted);
    out.add("rounds", results.rounds).add_number("seconds", results.seconds);
    out.add_number("took_seconds", results.took_seconds);
    out.add_json("notes", to_json(results.notes, inner));
    out.add_json("subjects", all_to_json(results.subjects, inner));
    out.add_json("workloads", all_to_json(results.workloads, inner));
    out.add_json("cells", all_to_json(results.cells, inner));
    return out.text() + "\n";
}

Result<> write_file(const std::string& folder, std::string_view name, std::string_view text) {
    const std::string path = folder + "/" + std::string(name);
    const std::string beside = path + ".new";
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) return fail(Error(failure.value(), "make folder", folder));
    std::FILE* file = std::fopen(beside.c_str(), "wb");
    if (file == nullptr) return fail(Error::last("write", beside));
    // The cause is read before the next call, which has an errno of its own.
    std::optional<Error> fault;
    const auto note = [&](const std::string& what) {
        if (!fault) fault.emplace(Error::last("write", what));
    };
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) note(beside);
    // On a full disk it is mostly the close that fails: until then the text is in a buffer.
    if (std::fclose(file) != 0) note(beside);
    if (!fault && std::rename(beside.c_str(), path.c_str()) != 0) note(path);
    if (!fault) return {};
    // Half a report would be taken for one, and in the user's folder nothing else would remove it.
    std::remove(beside.c_str());
    return fail(std::move(*fault));
}

Result<> try_folder(const std::string& folder) {
    // The three files of a full run are 1.1 MB (docs/lab/report).
    constexpr std::size_t report_bytes = 1'500'000;
    // A name of the run's own: the folder may be the user's, and what stands there is not ours.
    const std::string name = std::string(results_name) + ".room";
    auto written = write_file(folder, name, std::string(report_bytes, ' '));
    std::remove((folder + "/" + name).c_str());
    return written;
}

std::string result_in(const std::string& folder) {
    for (const std::string_view name : {results_name, page_name, markdown_name}) {
        std::error_code failure;
        // The link and not what it leads to: one that leads nowhere would be written over, too.
        const auto status = std::filesystem::symlink_status(
            std::filesystem::path(folder) / std::string(name), failure);
        if (std::filesystem::exists(status)) return std::string(name);
    }
    return {};
}

std::expected<Results, std::string> read_results(const std::string& folder) {
    const std::string path = folder + "/" + std::string(results_name);
    std::error_code failure;
    const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
    std::ifstream file(path, std::ios::binary);
    if (failure || !file) {
        return std::unexpected(path + ": cannot be read; tiderace lab run --out " + folder +
                               " writes it");
    }
    if (bytes > results_bytes_max) {
        return std::unexpected(path + ": longer than the " + std::to_string(results_bytes_max) +
                               " bytes that are read");
    }
    std::string text(static_cast<std::size_t>(bytes), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    // It may have become shorter since; the parser then finds where it breaks off.
    text.resize(static_cast<std::size_t>(file.gcount()));
    auto results = parse_results(text);
    if (!results) return std::unexpected(path + ": " + results.error());
    return results;
}

}  // namespace tiderace::lab::report

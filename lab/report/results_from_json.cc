// The only file that reads JSON, and the only one with simdjson's header, which is long.
//
// A report may be made again years later, by another version: what this program does not know is
// left out, what the file does not have is a default, and only what would turn a figure into a
// wrong one is refused (the format, its version, the state of a cell).
#include <simdjson.h>

#include <utility>

#include "lab/report/results_json.h"

namespace tiderace::lab::report {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t depth_max = 16;  // the format has 5

// A value, or its absence. Reading a missing value, or one of another kind, gives the
// default: a reader of an older or newer file goes on with what it knows.
class Node {
  public:
    Node(simdjson::simdjson_result<dom::element> found) : found_(std::move(found)) {}
    Node(dom::element found) : found_(dom::element(found)) {}

    Node operator[](std::string_view name) const { return Node(found_[name]); }
    std::string text(std::string_view otherwise = {}) const {
        return std::string(as<std::string_view>(otherwise));
    }
    double number() const { return as<double>(0); }
    bool flag() const { return as<bool>(false); }
    // 0 for what is negative or no number. What is not written as an integer goes by way of a
    // number: "1e4" and "100.0" are counts, too, and a uint64 just holds 1.8e19.
    std::uint64_t count() const {
        const double about = number();
        return as<std::uint64_t>(about > 0 && about < 1.8e19 ? static_cast<std::uint64_t>(about)
                                                             : 0);
    }
    std::vector<Node> list() const {
        std::vector<Node> all;
        dom::array elements;
        if (found_.get(elements) != simdjson::SUCCESS) return all;
        for (const dom::element element : elements) all.emplace_back(element);
        return all;
    }
    std::vector<std::pair<std::string, Node>> members() const {
        std::vector<std::pair<std::string, Node>> all;
        dom::object object;
        if (found_.get(object) != simdjson::SUCCESS) return all;
        for (const auto& [name, value] : object) all.emplace_back(name, value);
        return all;
    }

  private:
    template <typename T>
    T as(T otherwise) const {
        T value;
        return found_.get(value) == simdjson::SUCCESS ? value : otherwise;
    }

    simdjson::simdjson_result<dom::element> found_;
};

std::vector<std::string> texts(const Node& list) {
    std::vector<std::string> found;
    for (const Node& element : list.list()) found.push_back(element.text());
    return found;
}

std::vector<std::uint64_t> counts(const Node& list) {
    std::vector<std::uint64_t> found;
    for (const Node& element : list.list()) found.push_back(element.count());
    return found;
}

std::vector<LatencyPoint> curve(const Node& list) {
    std::vector<LatencyPoint> points;
    for (const Node& point : list.list()) {
        const std::vector<Node> both = point.list();
        if (both.size() == 2) points.push_back({both[0].number(), both[1].number()});
    }
    return points;
}

std::expected<Cell, std::string> to_cell(const Node& from) {
    Cell cell;
    cell.subject = from["subject"].text();
    cell.workload = from["workload"].text();
    cell.connections = from["connections"].count();
    cell.round = from["round"].count();
    const std::string state = from["state"].text();
    // Not skipped over as an unknown member is: a cell of a state that this program does not know
    // could be anything, even wrong.
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

Subject to_subject(const Node& from) {
    const std::string kind = from["kind"].text();
    // An unknown kind is drawn as one of the engines: that changes a colour and no figure.
    return {.name = from["name"].text(),
            .kind = kind == "floor"      ? SubjectKind::floor
                    : kind == "opponent" ? SubjectKind::opponent
                                         : SubjectKind::engine,
            .what = from["what"].text(),
            .version = from["version"].text(),
            .command = from["command"].text(),
            .absent = from["absent"].text()};
}

Workload to_workload(const Node& from) {
    return {.name = from["name"].text(),
            .about = from["about"].text(),
            .measure = from["measure"].text("cpu_us"),  // of all workloads but one
            .load = from["load"].text(),
            .connections = counts(from["connections"]),
            .absent = from["absent"].text()};
}

Machine to_machine(const Node& from) {
    return {.cpu = from["cpu"].text(),
            .cpus = from["cpus"].count(),
            .kernel = from["kernel"].text(),
            .memory_bytes = from["memory_bytes"].count(),
            .governor = from["governor"].text(),
            .descriptors_max = from["descriptors_max"].count()};
}

// Why a text is not this format in this version; "" if it is.
std::string unreadable(const Node& from) {
    if (from["format"].text() != results_format) {
        return "not the results of a run: its format is not " + std::string(results_format);
    }
    const std::uint64_t version = from["format_version"].count();
    if (version == Results::format_version) return {};
    return "of format version " + std::to_string(version) + "; this program reads version " +
           std::to_string(Results::format_version);
}

std::expected<Results, std::string> to_results(const Node& from) {
    Results results;
    results.date = from["date"].text();
    results.version = from["version"].text();
    results.build = from["build"].text();
    results.command = from["command"].text();
    results.machine = to_machine(from["machine"]);
    results.pinning = {.server_cpus = counts(from["pinning"]["server_cpus"]),
                       .load_cpus = counts(from["pinning"]["load_cpus"])};
    results.quick = from["quick"].flag();
    results.interrupted = from["interrupted"].flag();
    results.rounds = from["rounds"].count();
    results.seconds = from["seconds"].number();
    results.took_seconds = from["took_seconds"].number();
    results.notes = texts(from["notes"]);
    for (const Node& one : from["subjects"].list()) {
        results.subjects.push_back(to_subject(one));
    }
    for (const Node& one : from["workloads"].list()) {
        results.workloads.push_back(to_workload(one));
    }
    for (const Node& one : from["cells"].list()) {
        auto cell = to_cell(one);
        if (!cell) return std::unexpected(std::move(cell.error()));
        results.cells.push_back(std::move(*cell));
    }
    return results;
}

}  // namespace

std::expected<Results, std::string> parse_results(std::string_view text) {
    // Bounded in bytes and in depth: the file may come from another machine.
    dom::parser parser(results_bytes_max);
    simdjson::error_code fault = parser.allocate(0, depth_max);
    dom::element root;
    // Copies the text, because simdjson reads some bytes past its end.
    if (!fault) fault = parser.parse(text.data(), text.size(), true).get(root);
    if (fault) return std::unexpected(std::string("not JSON: ") + simdjson::error_message(fault));
    if (std::string why = unreadable(root); !why.empty()) return std::unexpected(std::move(why));
    return to_results(root);
}

}  // namespace tiderace::lab::report

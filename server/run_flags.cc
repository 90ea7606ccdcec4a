#include "server/run_flags.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "lab/run/subject.h"
#include "lab/run/workload.h"
#include "server/suggest.h"

namespace tiderace::server {
namespace {

using lab::run::RunOptions;
using Applied = std::expected<void, std::string>;

constexpr double seconds_max = 3'600;

std::string no_default(RunOptions&) {
    return {};
}

// "a,b,c" of known names, each once.
std::expected<std::vector<std::string>, std::string> names_of(
    std::string_view value, std::string_view what, std::span<const std::string_view> known) {
    std::vector<std::string> names;
    while (true) {
        const std::size_t end = std::min(value.find(','), value.size());
        const std::string_view name = value.substr(0, end);
        if (std::ranges::find(known, name) == known.end()) {
            std::string sentence = "there is no " + std::string(what) + " " + std::string(name);
            const std::string_view nearest = nearest_spelling(name, known);
            if (nearest.empty()) return std::unexpected(sentence + "; " + join_choices(known));
            return std::unexpected(sentence + "; did you mean " + std::string(nearest) + "?");
        }
        if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
        if (end == value.size()) return names;
        value.remove_prefix(end + 1);
    }
}

Applied set_engines(RunOptions& options, std::string_view value) {
    const auto known = lab::run::subject_names();
    auto names = names_of(value, "engine or server", known);
    if (!names) return std::unexpected(names.error());
    options.engines = std::move(*names);
    return {};
}

Applied set_workloads(RunOptions& options, std::string_view value) {
    std::vector<std::string_view> known;
    for (const auto& workload : lab::run::workloads()) known.push_back(workload.name);
    auto names = names_of(value, "workload", known);
    if (!names) return std::unexpected(names.error());
    for (const std::string& name : *names) {
        const std::string_view absent = lab::run::find_workload(name)->absent;
        if (!absent.empty()) return std::unexpected(name + " " + std::string(absent));
    }
    options.workloads = std::move(*names);
    return {};
}

Applied set_folder(RunOptions& options, std::string_view value) {
    if (value.empty()) return std::unexpected("expects a folder");
    options.folder = value;
    return {};
}

std::string folder(RunOptions& options) {
    return options.folder;
}

Applied set_seconds(RunOptions& options, std::string_view value) {
    double seconds = 0;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (failure != std::errc{} || end != value.data() + value.size() || !(seconds >= 0.01) ||
        seconds > seconds_max) {
        return std::unexpected("expects seconds, from 0.01 to 3600");
    }
    options.cell_time = Duration(static_cast<std::int64_t>(seconds * 1e9));
    return {};
}

// In the order of the help page.
constexpr std::array flags{
    Flag{.name = "engines",
         .letter = 'e',
         .value = "A,B",
         .group = Group::engine,
         .about = "these engines and servers, and the floor (otherwise all that are here)",
         .field = TextField{set_engines, no_default}},
    Flag{.name = "workloads",
         .letter = 'w',
         .value = "A,B",
         .group = Group::amount,
         .about = "these workloads (otherwise all); tiderace lab engines lists them",
         .field = TextField{set_workloads, no_default}},
    Flag{.name = "quick",
         .letter = 'q',
         .group = Group::amount,
         .about = "under 3 minutes: fewer workloads, one round, short cells",
         .field = SwitchField{[](RunOptions& o) -> bool& { return o.quick; }}},
    Flag{.name = "rounds",
         .letter = 'n',
         .value = "N",
         .group = Group::amount,
         .about = "how often everybody has a turn",
         .zero_means = "3, or 1 if quick",
         .field = CountField{[](RunOptions& o) -> std::uint64_t& { return o.rounds; }, 0, 1'000}},
    Flag{.name = "seconds",
         .letter = 's',
         .value = "S",
         .group = Group::amount,
         .about = "of load for each cell (otherwise what the time allows)",
         .field = TextField{set_seconds, no_default}},
    Flag{.name = "out",
         .letter = 'o',
         .value = "DIR",
         .group = Group::amount,
         .about = "where results.json, index.html and report.md go",
         .completes = Completes::directory,
         .field = TextField{set_folder, folder}},
    Flag{.name = "force",
         .letter = 'f',
         .group = Group::amount,
         .about = "write over the results of an earlier run",
         .field = SwitchField{[](RunOptions& o) -> bool& { return o.force; }}},

    Flag{.name = "help", .letter = 'h', .about = "this page"},
};

}  // namespace

std::span<const Flag> run_flags() {
    return flags;
}

}  // namespace tiderace::server

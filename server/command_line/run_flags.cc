#include "server/command_line/run_flags.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lab/run/subject.h"
#include "lab/run/workload.h"
#include "server/command_line/suggest.h"

namespace tiderace::server {
namespace {

using lab::run::RunOptions;

constexpr double seconds_max = 3'600;

// "a,b,c" of known names, each once. An unknown one refuses them all: a run of the rest may take an
// hour before its report shows what is missing.
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
        // Refused before the run, which may take an hour.
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

std::string folder(const RunOptions& options) {
    return options.folder;
}

Applied set_seconds(RunOptions& options, std::string_view value) {
    const auto seconds = parse_number<double>(value);
    // Not `seconds < 0.01`, which a NaN would pass.
    if (!seconds || !(*seconds >= 0.01) || *seconds > seconds_max) {
        return std::unexpected("expects seconds, from 0.01 to 3600");
    }
    options.cell_time = Duration(static_cast<std::int64_t>(*seconds * 1e9));
    return {};
}

// In the order of the help page.
constexpr std::array flags{
    RunFlag{{.name = "engines",
             .letter = 'e',
             .value = "A,B",
             .group = Group::engine,
             .about = "these engines and servers, and the floor (otherwise all that are here)"},
            RunFlag::Text{set_engines}},
    RunFlag{{.name = "workloads",
             .letter = 'w',
             .value = "A,B",
             .group = Group::amount,
             .about = "these workloads (otherwise all); tiderace lab engines lists them"},
            RunFlag::Text{set_workloads}},
    RunFlag{{.name = "quick",
             .letter = 'q',
             .about = "under 3 minutes: fewer workloads, one round, short cells"},
            RunFlag::Switch{place<&RunOptions::quick>}},
    RunFlag{{.name = "rounds",
             .letter = 'n',
             .about = "how often everybody has a turn",
             .unset_means = "3, or 1 if quick"},
            RunFlag::Count{place<&RunOptions::rounds>, 0, 1'000}},
    RunFlag{{.name = "seconds",
             .letter = 's',
             .value = "S",
             .about = "of load for each cell (otherwise what the time allows)"},
            RunFlag::Text{set_seconds}},
    RunFlag{{.name = "out",
             .letter = 'o',
             .value = "DIR",
             .about = "where results.json, index.html and report.md go",
             .completes = Completes::directory},
            RunFlag::Text{set_folder, folder}},
    RunFlag{{.name = "force", .letter = 'f', .about = "write over the results of an earlier run"},
            RunFlag::Switch{place<&RunOptions::force>}},

    RunFlag{help_flag, NoField{}},
};

}  // namespace

std::span<const RunFlag> run_flags() {
    return flags;
}

}  // namespace tiderace::server

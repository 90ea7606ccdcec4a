#include "server/lab_commands.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lab/engine/engine.h"
#include "lab/opponent/opponent.h"
#include "lab/run/workload.h"
#include "server/command_line/command_words.h"
#include "server/command_line/help_text.h"
#include "server/command_line/run_flags.h"
#include "server/version.h"

namespace tiderace::server {
namespace {

constexpr std::string_view program = "tiderace lab";

// "auto", then every engine of the lab.
const std::vector<std::string_view>& engine_names() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all{"auto"};
        for (const auto& engine : lab::engine::engines()) all.push_back(engine.name);
        return all;
    }();
    return names;
}

void set_engine(ServeOptions& options, std::size_t i) {
    options.engine = engine_names()[i];
}

// Always found: the options' own default is "auto", and all others come through set_engine().
std::size_t engine_index(const ServeOptions& options) {
    const auto found = std::ranges::find(engine_names(), options.engine);
    return static_cast<std::size_t>(found - engine_names().begin());
}

// The flags of `tiderace serve`, with the lab's engines added to the choice.
std::vector<ServeFlag> all_serve_flags() {
    const auto plain = serve_flags();
    std::vector<ServeFlag> flags(plain.begin(), plain.end());
    for (ServeFlag& flag : flags) {
        // Every other flag is serve's own, so that an engine can be measured under any of them.
        if (flag.text.name != "engine") continue;
        flag.text.about = "how the server is built";
        flag.field = ServeFlag::Choice{engine_names(), set_engine, engine_index};
    }
    flags.push_back(
        {{.name = "echo", .group = Group::engine, .about = "no HTTP: what comes in goes out"},
         ServeFlag::Switch{place<&ServeOptions::echo>}});
    return flags;
}

// Made once and never changed: the command points into them.
std::span<const ServeFlag> lab_serve_flags() {
    static const std::vector<ServeFlag> flags = all_serve_flags();
    return flags;
}

using Parsed = std::expected<LabCommand, CliFailure>;

std::string lab_help() {
    return "tiderace lab " + std::string(version()) +
           ": compares ways of building a server\n\n"
           "Usage: tiderace lab COMMAND [flags]\n\nCommands\n" +
           command_list(lab_commands()) +
           "\nExamples\n"
           "  tiderace lab engines\n"
           "  tiderace lab run --quick\n"
           "  tiderace lab run --engines epoll,io_uring,nginx --workloads w1,churn\n"
           "  tiderace lab serve site --engine queue --threads 4\n";
}

// An engine that is known but absent is refused with its reason, before anything is opened.
Parsed parse_lab_serve(const CommandWords& words) {
    auto options = parse_serve(words, lab_serve_flags());
    if (!options) return std::unexpected(options.error());
    const auto* engine = lab::engine::find_engine(options->engine);
    // Status 1, as for other things that the machine lacks: the command line itself is right.
    if (engine != nullptr && !engine->why_absent().empty()) {
        return std::unexpected(
            CliFailure{"--engine " + options->engine +
                           " is not to be had here: " + std::string(engine->why_absent()),
                       1});
    }
    return LabCommand(std::move(*options));
}

Parsed parse_run(const CommandWords& words, std::span<const std::string_view> typed) {
    lab::run::RunOptions options;
    if (auto applied = apply_flags(words, run_flags(), options); !applied) {
        return refuse(applied.error());
    }
    options.version = version_and_commit();
    options.build = build_text();
    options.command = "tiderace lab run";
    // The report shows the command, so that a reader can repeat the run.
    for (const std::string_view word : typed) options.command.append(" ").append(word);
    return LabCommand(std::move(options));
}

Parsed parse_report(const CommandWords& words) {
    if (words.operands.empty()) {
        return refuse("report expects the folder of a run, as in tiderace lab report lab-results");
    }
    return LabCommand(lab::report::ReportOptions{words.operands[0]});
}

Parsed parse_one(const CommandSpec& command, std::span<const std::string_view> rest) {
    const auto words = split_command_words(command, rest);
    if (!words) return refuse(words.error());
    if (words->has("help")) return LabCommand(Printout{command_help(command)});
    // Before the operands are counted: serve itself explains what a second folder means.
    if (command.name == "serve") return parse_lab_serve(*words);
    const std::size_t allowed = command.operand.empty() ? 0 : 1;
    if (words->operands.size() > allowed) {
        return refuse(std::string(command.name) + " does not take the word " +
                      words->operands[allowed]);
    }
    if (command.name == "run") return parse_run(*words, rest);
    if (command.name == "report") return parse_report(*words);
    if (command.name == "engines") return LabCommand(Printout{engine_list()});
    if (words->operands.empty()) return LabCommand(Printout{lab_help()});
    const CommandSpec* asked = find_command(words->operands[0], lab_commands());
    if (asked != nullptr) return LabCommand(Printout{command_help(*asked)});
    return refuse(unknown_command(words->operands[0], lab_commands()));
}

// One list entry: a name, with its description beside it.
std::string entry(std::string_view name, std::string_view what, const std::string& why_absent) {
    constexpr std::size_t column = 18, columns = 80;
    std::string text(what);
    if (!why_absent.empty()) text.append(" Not here: ").append(why_absent).append(".");
    std::string line(name);
    line.resize(std::max(name.size() + 2, column), ' ');
    return line + wrap(text, columns - column, column) + "\n";
}

}  // namespace

std::span<const CommandSpec> lab_commands() {
    static const std::array<CommandSpec, 5> all{{
        {.name = "run",
         .about = "put every engine and server under every load, in turns",
         .flags = describe(run_flags()),
         .program = program},
        {.name = "report",
         .operand = "DIR",
         .about = "write the pages of a run again: index.html and report.md",
         .program = program},
        {.name = "serve",
         .operand = "[DIR]",
         .about = "serve a folder, on any engine of the lab",
         .flags = describe(lab_serve_flags()),
         .program = program},
        {.name = "engines",
         .about = "engines, other servers and workloads: what each is, and whether it is here",
         .program = program},
        {.name = "help",
         .operand = "[COMMAND]",
         .about = "this page, or the flags of a command",
         .program = program},
    }};
    return all;
}

std::expected<LabCommand, CliFailure> parse_lab_command_line(
    std::span<const std::string_view> words) {
    if (words.empty() || words[0] == "--help" || words[0] == "-h") {
        return LabCommand(Printout{lab_help()});
    }
    if (words[0] == "--version" || words[0] == "-V") return LabCommand(Printout{version_line()});
    if (const CommandSpec* command = find_command(words[0], lab_commands())) {
        return parse_one(*command, words.subspan(1));
    }
    return refuse(unknown_command(words[0], lab_commands()));
}

std::string engine_list() {
    std::string page;
    for (const auto& engine : lab::engine::engines()) {
        page += entry(engine.name, engine.what, std::string(engine.why_absent()));
    }
    page += "\nOther servers, for run --engines\n\n";
    for (const lab::Opponent& opponent : lab::opponents()) {
        page += entry(opponent.name, opponent.what, lab::why_absent(opponent).value_or(""));
    }
    page += "\nWorkloads, for run --workloads\n\n";
    for (const lab::run::Workload& workload : lab::run::workloads()) {
        page +=
            entry(workload.name, std::string(workload.about) + ".", std::string(workload.absent));
    }
    return page;
}

}  // namespace tiderace::server

#include "server/command_line/load_command_line.h"

#include "server/command_line/apply_flag.h"
#include "server/command_line/command_words.h"
#include "server/command_line/flags.h"
#include "server/command_line/help_text.h"
#include "server/command_line/load_flags.h"

namespace tiderace::server {
namespace {

// As `tiderace help` has it, with its flags.
const CommandSpec& load_command() {
    static const CommandSpec command = [] {
        CommandSpec load = *find_command("load");
        load.flags = describe(load_flags());
        return load;
    }();
    return command;
}

}  // namespace

std::expected<LoadCommand, CliFailure> parse_load_command_line(
    std::span<const std::string_view> words) {
    const auto typed = split_command_words(load_command(), words);
    if (!typed) return refuse(typed.error());
    const auto& operands = typed->operands;
    // `tiderace help load` becomes the word help.
    if (typed->has("help") || (operands.size() == 1 && operands[0] == "help")) {
        return LoadCommand(Printout{command_help(load_command())});
    }
    if (operands.size() > 1) return refuse("load does not take the word " + operands[1]);
    load::LoadOptions options;
    if (auto applied = apply_flags(*typed, load_flags(), options); !applied) {
        return refuse(applied.error());
    }
    if (typed->has("body") && typed->has("body-size")) {
        return refuse("--body and --body-size: choose one");
    }
    if (operands.empty()) {
        return refuse("load expects a URL, as in tiderace load http://127.0.0.1:8080/");
    }
    options.url = operands[0];
    return LoadCommand(std::move(options));
}

}  // namespace tiderace::server

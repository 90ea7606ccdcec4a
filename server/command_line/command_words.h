// The words of one command, taken apart into flags with their values and operands.
//
//   --name  --name=value  --name value     a flag; its value may be the next word
//   -l  -l value  -lvalue                  the same by its letter; switches may be joined: -oq
//   --                                     the rest are operands
//
// A flag that may stand bare takes a value only behind '=', since the next word may be the operand.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/command_line/apply_flag.h"
#include "server/command_line/flags.h"

namespace tiderace::server {

struct GivenFlag {
    const FlagHelp* flag;
    std::string value;  // "" for a switch
};

struct CommandWords {
    std::vector<GivenFlag> flags;  // as they were typed; a switch once
    std::vector<std::string> operands;

    bool has(std::string_view flag) const;
};

// Or the sentence that names the flag that is unknown, lacks its value, or has one too many.
std::expected<CommandWords, std::string> split_command_words(
    const CommandSpec& command, std::span<const std::string_view> words);

// "--name VALUE: what the flag expects"
std::string refused_value(const GivenFlag& given, const std::string& expects);

// Writes the values into the options of the command whose flags are in `table`, or names the flag
// that does not take its value.
template <typename Options>
Applied apply_flags(const CommandWords& words, std::span<const Flag<Options>> table,
                    std::type_identity_t<Options>& options) {
    for (const GivenFlag& given : words.flags) {
        for (const Flag<Options>& flag : table) {
            if (flag.text.name != given.flag->name) continue;
            const Applied applied = apply_flag(flag, given.value, options);
            if (!applied) return std::unexpected(refused_value(given, applied.error()));
        }
    }
    return {};
}

}  // namespace tiderace::server

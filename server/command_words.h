// The words of one command, taken apart into flags with their values and operands. The one place
// that knows the command-line library.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/flags.h"

namespace tiderace::server {

struct GivenFlag {
    const Flag* flag;
    std::string value;  // "" for a switch
};

struct CommandWords {
    std::vector<GivenFlag>
        flags;  // in the order of the table; one flag's values as they were typed
    std::vector<std::string> operands;

    bool has(std::string_view flag) const;
};

// Or the sentence that says which flag is unknown, lacks its value, or has one too many.
std::expected<CommandWords, std::string> split_command_words(
    const CommandSpec& command, std::span<const std::string_view> words);

// Writes the values of all flags into the options of their command, or says which flag does not
// take its value.
std::expected<void, std::string> apply_flags(const CommandWords& words, OptionsOf options);

}  // namespace tiderace::server

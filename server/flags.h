// The commands and flags of the program, once, as data. The command line, the help, the man page
// and the shell completions are all rendered from these tables; defaults are read from
// ServeOptions.
//
// Thread   Constants; any.
// Errors   A value that a flag does not take is a sentence for the person who typed it.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "server/options.h"

namespace tiderace::server {

// What a flag writes to. `of` names the field of the options; each kind has its own value syntax.
struct NoField {};  // the command line itself acts on it: --help
struct SwitchField {
    bool& (*of)(ServeOptions&);
    bool sets = true;  // what giving the flag means
};
struct DurationField {
    Duration& (*of)(ServeOptions&);
};
struct BytesField {
    std::uint64_t& (*of)(ServeOptions&);
    std::uint64_t smallest = 0;
    std::uint64_t largest = UINT64_MAX;
};
struct CountField {
    std::uint64_t& (*of)(ServeOptions&);
    std::uint64_t smallest;
    std::uint64_t largest;
};
struct ChoiceField {
    std::span<const std::string_view> names;
    void (*set)(ServeOptions&, std::size_t index);
    std::size_t (*get)(const ServeOptions&);
};
// Anything else. `set` says what it expects when the value is not of that form.
struct TextField {
    std::expected<void, std::string> (*set)(ServeOptions&, std::string_view value);
    std::string (*get)(const ServeOptions&);  // the default's text; "" when there is none
};
using Field = std::variant<NoField, SwitchField, DurationField, BytesField, CountField, ChoiceField,
                           TextField>;

enum class Group : std::uint8_t {
    listening,
    encryption,
    content,
    answers,
    access,
    logging,
    engine,
    limits,
    other
};

// What a shell offers after the flag.
enum class Completes : std::uint8_t { nothing, file, directory };

struct Flag {
    std::string_view name;   // without the dashes
    char letter = 0;         // its short form; 0: none
    std::string_view value;  // the value's name in help (ADDR); "": a switch
    Group group = Group::other;
    std::string_view about;       // one line, lower case, no final stop
    std::string_view zero_means;  // how a default of 0 reads: "one per CPU"
    std::string_view unit;        // follows a default that is a bare number: "bytes/s"
    std::string_view
        value_if_bare;  // the value may be left out (and is given with = only): then this
    bool repeatable = false;
    Completes completes = Completes::nothing;
    Field field = NoField{};

    bool is_switch() const { return value.empty(); }
};

struct CommandSpec {
    std::string_view name;
    std::string_view operand;  // "[DIR]", "SHELL", ""
    std::string_view about;
    std::span<const Flag> flags;
    std::span<const std::string_view> operand_choices;
};

std::span<const CommandSpec> commands();
// nullptr: there is no such command.
const CommandSpec* find_command(std::string_view name);

std::string_view group_title(Group group);

// Writes the value into the options, or says what the flag expects (without naming the flag).
std::expected<void, std::string> apply_flag(const Flag& flag, std::string_view value,
                                            ServeOptions& options);
// The default as a person would type it, with its unit; "" when there is nothing to say.
std::string default_text(const Flag& flag);
// The words that the flag takes, where they are a closed list.
std::span<const std::string_view> flag_choices(const Flag& flag);
// "a, b or c"
std::string join_choices(std::span<const std::string_view> words);

}  // namespace tiderace::server

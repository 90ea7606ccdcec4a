// The commands and flags of the program, once, as data. The command line, the help, the man page
// and the shell completions are all rendered from these tables; defaults are read from the options.
//
//   Flag<ServeOptions>    one flag of a command: its text, and its place in the command's options
//   FlagHelp              the same flag as text only, for help, man page and completions
//   CommandSpec           a command with the help of its flags
//
// Thread   Constants; any.
// Keywords: flags, options, HSTS
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "server/command_line/flag_values.h"
#include "server/options.h"
#include "server/version.h"

namespace tiderace::server {

enum class Group : std::uint8_t {
    as_above,  // as the flag before it in the table
    listening,
    encryption,
    content,
    answers,
    access,
    logging,
    engine,
    limits,
    amount,
    request,
    clients,
    expected,
    other
};

// A shell's suggestions after the flag.
enum class Completes : std::uint8_t { nothing, file, directory };

struct FlagText {
    std::string_view name;  // without the dashes
    char letter = 0;        // its short form; 0: none
    // The value's name in help: ADDR. Where it is "", a time is a TIME, a size a SIZE, a count N.
    std::string_view value;
    Group group = Group::as_above;
    std::string_view about;          // one line, lower case, no final stop
    std::string_view unset_means;    // how an unset option, or a default of 0, reads: "one per CPU"
    std::string_view unit;           // follows a default that is a bare number: "bytes/s"
    std::string_view value_if_bare;  // used when no value is given; a value then needs "="
    bool repeatable = false;
    Completes completes = Completes::nothing;
};

// Where a flag writes its value. `of` returns the field of the options; each kind of field has its
// own value syntax (flag_values.h, apply_flag.h).
template <typename Options, typename Value>
using Place = std::variant<Value& (*)(Options&), std::optional<Value>& (*)(Options&)>;

// `place<&ServeOptions::tls, &TlsOptions::hsts>`: that field of the options.
template <typename Options, typename Value>
Options owner_of(Value Options::*);
template <auto first, auto... inner>
constexpr auto& reach(auto& options) {
    if constexpr (sizeof...(inner) == 0) {
        return options.*first;
    } else {
        return reach<inner...>(options.*first);
    }
}
template <auto first, auto... inner>
constexpr auto& place(decltype(owner_of(first))& options) {
    return reach<first, inner...>(options);
}

struct NoField {};  // the command line itself acts on the flag: --help
template <typename Options>
struct SwitchField {
    Place<Options, bool> of;
    bool sets = true;  // what giving the flag means
};
template <typename Options>
struct DurationField {
    Place<Options, Duration> of;
};
template <typename Options>
struct BytesField {
    Place<Options, std::uint64_t> of;
    std::uint64_t smallest = 0;
    std::uint64_t largest = UINT64_MAX;
    // False where 0 is the opposite of what "off" promises: --max-body off would refuse every body.
    bool has_off = true;
};
template <typename Options>
struct CountField {
    Place<Options, std::uint64_t> of;
    std::uint64_t smallest;
    std::uint64_t largest;
};
template <typename Options>
struct ChoiceField {
    std::span<const std::string_view> names;
    void (*set)(Options&, std::size_t);
    std::size_t (*get)(const Options&);
    SystemsOf systems_of = nullptr;
};
// For the field at this place: an enumeration, with its names in its own order.
template <auto first, auto... inner>
constexpr auto choice_of(std::span<const std::string_view> names) {
    using Options = decltype(owner_of(first));
    return ChoiceField<Options>{
        names,
        [](Options& options, std::size_t index) {
            auto& field = reach<first, inner...>(options);
            field = static_cast<std::remove_reference_t<decltype(field)>>(index);
        },
        [](const Options& options) {
            return static_cast<std::size_t>(reach<first, inner...>(options));
        }};
}
// Any other value. `set` returns what it expects when the value has another form.
template <typename Options>
struct TextField {
    Applied (*set)(Options&, std::string_view);
    std::string (*get)(const Options&) = nullptr;  // the default's text; null: there is none
};
// A text that its field takes as it is.
template <auto first, auto... inner>
Applied take_text(decltype(owner_of(first))& options, std::string_view value) {
    reach<first, inner...>(options) = value;
    return {};
}

// The engine of a loop. Its names are the engines that this build has.
template <typename Options>
constexpr ChoiceField<Options> engine_choice() {
    return {engine_choices,
            [](Options& options, std::size_t index) { options.engine = engine_choices[index]; },
            [](const Options& options) {
                const auto found = std::ranges::find(engine_choices, options.engine);
                return static_cast<std::size_t>(found - engine_choices.begin());
            },
            systems_of_engine};
}

template <typename Options>
struct Flag {
    using Switch = SwitchField<Options>;
    using Time = DurationField<Options>;
    using Size = BytesField<Options>;
    using Count = CountField<Options>;
    using Choice = ChoiceField<Options>;
    using Text = TextField<Options>;

    FlagText text;
    std::variant<NoField, Switch, Time, Size, Count, Choice, Text> field;
};

using ServeFlag = Flag<ServeOptions>;

// As describe() completes it, with the value's name and the group.
struct FlagHelp : FlagText {
    std::string default_text = {};  // as a person would type it, with its unit; "": none
    std::span<const std::string_view> choices = {};  // the words it takes; empty: no closed list

    bool is_switch() const { return value.empty(); }
    bool takes_next_word() const { return !is_switch() && value_if_bare.empty(); }
};

inline constexpr FlagText help_flag{
    .name = "help", .letter = 'h', .group = Group::other, .about = "this page"};

struct CommandSpec {
    std::string_view name;
    std::string_view operand = "";  // "[DIR]", "SHELL"
    std::string_view about;
    std::vector<FlagHelp> flags = {{help_flag}};
    std::span<const std::string_view> operand_choices = {};
    std::string_view program = "tiderace";  // as a person types it
};

std::span<const CommandSpec> commands();
// nullptr: there is no such command.
const CommandSpec* find_command(std::string_view name,
                                std::span<const CommandSpec> among = commands());
// The flags of `tiderace serve`, in the order of its help page.
std::span<const ServeFlag> serve_flags();

}  // namespace tiderace::server

#include "server/command_line/command_words.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "server/command_line/suggest.h"

namespace tiderace::server {
namespace {

// What a switch, or a flag without its optional value, leaves behind in the library's results. No
// word of a command line can be equal to it.
constexpr std::string_view bare_mark = "\x01";

// Spellings that other servers taught people's fingers.
struct ForeignSpelling {
    std::string_view theirs;
    std::string_view ours;
};
constexpr std::array foreign_spellings{
    ForeignSpelling{"port", "--listen :PORT"},
    ForeignSpelling{"p", "--listen :PORT"},
    ForeignSpelling{"bind", "--listen HOST:PORT"},
    ForeignSpelling{"host", "--listen HOST:PORT"},
    ForeignSpelling{"address", "--listen HOST:PORT"},
    ForeignSpelling{"workers", "--threads N"},
    ForeignSpelling{"browse", "--listing"},
    ForeignSpelling{"autoindex", "--listing"},
    ForeignSpelling{"single", "--spa"},
    ForeignSpelling{"auth", "--basic-auth"},
    ForeignSpelling{"htpasswd", "--basic-auth FILE"},
    ForeignSpelling{"cert", "--tls CERT,KEY"},
    ForeignSpelling{"tls-cert", "--tls CERT,KEY"},
    ForeignSpelling{"ssl", "--tls CERT,KEY"},
    ForeignSpelling{"https", "--tls CERT,KEY, or --tls-self-signed"},
    ForeignSpelling{"gzip", "--compress gzip"},
    ForeignSpelling{"root", "tiderace serve DIR"},
    ForeignSpelling{"directory", "tiderace serve DIR"},
    ForeignSpelling{"dir", "tiderace serve DIR"},
};

std::string spelled(const FlagHelp& flag) {
    return "--" + std::string(flag.name);
}

// "--name" or "-n", without the value that may follow "=".
std::string_view flag_part(std::string_view word) {
    return word.substr(0, word.find('='));
}

const FlagHelp* flag_named(const CommandSpec& command, std::string_view name) {
    const auto found = std::ranges::find(command.flags, name, &FlagText::name);
    return found == command.flags.end() ? nullptr : &*found;
}

std::string unknown_flag(const CommandSpec& command, std::string_view word) {
    const std::string_view dashed = flag_part(word);
    std::string_view name = dashed;
    while (name.starts_with('-')) name.remove_prefix(1);
    std::string sentence = "unknown flag " + std::string(dashed);
    for (const ForeignSpelling& spelling : foreign_spellings) {
        if (spelling.theirs == name && command.name == "serve") {
            return sentence.append("; did you mean ").append(spelling.ours).append("?");
        }
    }
    std::vector<std::string_view> names;
    for (const FlagHelp& flag : command.flags) names.push_back(flag.name);
    // One letter is near to every short name.
    const std::string_view nearest = name.size() > 1 ? nearest_spelling(name, names) : "";
    if (!nearest.empty()) return sentence.append("; did you mean --").append(nearest).append("?");
    // The program that has the command: `tiderace help run` knows none of the lab's.
    sentence.append("; ").append(command.program).append(" help ").append(command.name);
    return sentence + " lists them";
}

// Mistakes that the library would read as something else: "-listen" as "-l isten", "--index=" as an
// --index whose value is the next word.
std::optional<std::string> misread_word(const CommandSpec& command,
                                        std::span<const std::string_view> words) {
    for (const std::string_view word : words) {
        if (word == "--") break;
        const std::string_view name = flag_part(word);
        if (word.starts_with('-') && !word.starts_with("--") && word.size() > 2 &&
            flag_named(command, name.substr(1))) {
            return "unknown flag " + std::string(name) + "; did you mean -" + std::string(name) +
                   "?";
        }
        if (!word.starts_with("--") || !word.ends_with('=') || name.size() + 1 != word.size())
            continue;
        const FlagHelp* flag = flag_named(command, name.substr(2));
        if (flag && flag->is_switch()) return std::string(name) + " takes no value";
        if (flag) return std::string(name) + " needs a value: " + std::string(flag->value);
    }
    return std::nullopt;
}

// A flag that may stand bare is a "flag" to the library, which takes a value for it only behind
// '='; any other is an "option", which takes the next word whatever it looks like (values_of()
// looks).
CLI::Option* declare(CLI::App& app, const FlagHelp& flag) {
    const bool may_be_bare = flag.is_switch() || !flag.value_if_bare.empty();
    const std::string bare = may_be_bare ? "{" + std::string(bare_mark) + "}" : "";
    std::string names = spelled(flag) + bare;
    if (flag.letter != 0) names.append(",-").append(1, flag.letter).append(bare);
    if (may_be_bare)
        // All values are kept: the library's own policies would take the last, or sum up, and a
        // flag that is given twice is an error of ours (values_of) unless it may be.
        return app.add_flag(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    const CLI::callback_t keep = [](const CLI::results_t&) { return true; };
    return app.add_option(names, keep)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
}

// The flag's values as they were typed, or what is wrong with them.
std::expected<std::vector<GivenFlag>, std::string> values_of(
    const CommandSpec& command, const FlagHelp& flag, const std::vector<std::string>& results) {
    std::vector<GivenFlag> given;
    for (const std::string& result : results) {
        const bool is_bare = result == bare_mark;
        if (flag.is_switch()) {
            if (!is_bare)
                return std::unexpected(spelled(flag) + " takes no value, but got " + result);
            given.assign(1, {&flag, {}});
            continue;
        }
        // "--listen --open": the next flag was taken for the value.
        const bool is_flag =
            result.starts_with("--") && flag_named(command, flag_part(result).substr(2));
        if (result.empty() || is_flag) {
            return std::unexpected(spelled(flag) + " needs a value: " + std::string(flag.value));
        }
        given.push_back({&flag, is_bare ? std::string(flag.value_if_bare) : result});
    }
    if (given.size() > 1 && !flag.repeatable) {
        return std::unexpected(spelled(flag) + " is given twice: " + given[0].value + " and " +
                               given[1].value);
    }
    return given;
}

// Splits what the library did not take into operands and, before "--", unknown flags.
std::expected<std::vector<std::string>, std::string> operands_of(
    const CommandSpec& command, const std::vector<std::string>& remaining) {
    std::vector<std::string> operands;
    bool only_operands = false;
    for (const std::string& word : remaining) {
        if (!only_operands && word == "--") {
            only_operands = true;
        } else if (!only_operands && word.size() > 1 && word.starts_with('-')) {
            return std::unexpected(unknown_flag(command, word));
        } else {
            operands.push_back(word);
        }
    }
    return operands;
}

// The library's message is "--listen: 1 required TEXT missing" and the like; we use only the flag.
std::string without_value(const CommandSpec& command, std::string_view message) {
    const std::string_view name = message.substr(0, message.find(':'));
    const FlagHelp* flag = name.starts_with("--") ? flag_named(command, name.substr(2)) : nullptr;
    if (!flag) return "cannot read the command line: " + std::string(message);
    return std::string(name) + " needs a value: " + std::string(flag->value);
}

}  // namespace

bool CommandWords::has(std::string_view flag) const {
    return std::ranges::any_of(flags, [&](const GivenFlag& g) { return g.flag->name == flag; });
}

// CLI11 takes the words apart, and nothing else: its conversions, messages and help would be a
// second truth beside the tables of flags.
std::expected<CommandWords, std::string> split_command_words(
    const CommandSpec& command, std::span<const std::string_view> words) {
    if (auto misread = misread_word(command, words)) return std::unexpected(*misread);
    CLI::App app;
    // Off: --help is a flag of ours, with our page.
    app.set_help_flag();
    app.allow_extras();
    std::vector<CLI::Option*> declared;
    for (const FlagHelp& flag : command.flags) declared.push_back(declare(app, flag));
    try {
        // The library takes the words from the back.
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
        return std::unexpected(without_value(command, error.what()));
    }
    CommandWords result;
    auto operands = operands_of(command, app.remaining());
    if (!operands) return std::unexpected(operands.error());
    result.operands = std::move(*operands);
    for (std::size_t i = 0; i < declared.size(); ++i) {
        auto given = values_of(command, command.flags[i], declared[i]->results());
        if (!given) return std::unexpected(given.error());
        std::ranges::move(*given, std::back_inserter(result.flags));
    }
    return result;
}

std::string refused_value(const GivenFlag& given, const std::string& expects) {
    std::string sentence = spelled(*given.flag);
    // A password does not belong on the screen or in a log.
    if (given.flag->group != Group::access) sentence.append(" ").append(given.value);
    return sentence + ": " + expects;
}

}  // namespace tiderace::server

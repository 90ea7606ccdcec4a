#include "server/command_line/command_words.h"

#include <algorithm>
#include <array>
#include <optional>

#include "server/command_line/suggest.h"

namespace tiderace::server {
namespace {

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

// "--name=value" without the dashes and the value.
std::string_view bare_name(std::string_view word) {
    const std::string_view name = flag_part(word);
    return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

const FlagHelp* flag_named(const CommandSpec& command, std::string_view name) {
    const auto found = std::ranges::find(command.flags, name, &FlagText::name);
    return found == command.flags.end() ? nullptr : &*found;
}

std::string unknown_flag(const CommandSpec& command, std::string_view word) {
    const std::string_view dashed = flag_part(word);
    const std::string_view name = bare_name(word);
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

// Reads the words once, from left to right: of several mistakes the first is named.
class Splitter {
  public:
    Splitter(const CommandSpec& command, std::span<const std::string_view> words)
        : command_(command), rest_(words) {}

    std::expected<CommandWords, std::string> split() {
        while (!rest_.empty()) {
            const std::string_view word = next();
            if (word == "--") {
                result_.operands.insert(result_.operands.end(), rest_.begin(), rest_.end());
                break;
            }
            if (word.size() < 2 || !word.starts_with('-')) {
                result_.operands.emplace_back(word);
                continue;
            }
            const Applied taken = word.starts_with("--") ? take_name(word) : take_letters(word);
            if (!taken) return std::unexpected(taken.error());
        }
        return std::move(result_);
    }

  private:
    // "" at the end.
    std::string_view next() {
        if (rest_.empty()) return {};
        const std::string_view word = rest_.front();
        rest_ = rest_.subspan(1);
        return word;
    }

    // "--listing", "--listen=:80", or "--listen" before its value.
    Applied take_name(std::string_view word) {
        const std::string_view name = flag_part(word);
        const FlagHelp* flag = flag_named(command_, name.substr(2));
        if (!flag) return std::unexpected(unknown_flag(command_, word));
        if (name.size() == word.size()) return take(*flag, std::nullopt);
        return take(*flag, word.substr(name.size() + 1));
    }

    // "-oq", "-l:80", or "-l" before its value.
    Applied take_letters(std::string_view word) {
        // Not -l with the value "isten".
        if (word.size() > 2 && flag_named(command_, bare_name(word))) {
            const std::string name(flag_part(word));
            return std::unexpected("unknown flag " + name + "; did you mean -" + name + "?");
        }
        for (word.remove_prefix(1); !word.empty();) {
            const auto flag = std::ranges::find(command_.flags, word[0], &FlagText::letter);
            if (flag == command_.flags.end()) {
                return std::unexpected(unknown_flag(command_, "-" + std::string(word)));
            }
            word.remove_prefix(1);
            const bool has_value = flag->takes_next_word() && !word.empty();
            const Applied taken = take(*flag, has_value ? std::optional(word) : std::nullopt);
            if (!taken || has_value) return taken;
        }
        return {};
    }

    // `attached`: the value that stands in the flag's own word.
    Applied take(const FlagHelp& flag, std::optional<std::string_view> attached) {
        if (flag.is_switch()) {
            if (attached) {
                return std::unexpected(spelled(flag) + " takes no value" +
                                       (attached->empty() ? "" : ", but got ") +
                                       std::string(*attached));
            }
            if (!result_.has(flag.name)) result_.flags.push_back({&flag, {}});
            return {};
        }
        const std::string_view value = attached                 ? *attached
                                       : flag.takes_next_word() ? next()
                                                                : flag.value_if_bare;
        // "--listen --open": the next flag stands where the value should.
        const bool is_flag = value.starts_with('-') && flag_named(command_, bare_name(value));
        if (value.empty() || is_flag) {
            return std::unexpected(spelled(flag) + " needs a value: " + std::string(flag.value));
        }
        const auto earlier = std::ranges::find(result_.flags, &flag, &GivenFlag::flag);
        if (earlier != result_.flags.end() && !flag.repeatable) {
            return std::unexpected(spelled(flag) + " is given twice: " + earlier->value + " and " +
                                   std::string(value));
        }
        result_.flags.push_back({&flag, std::string(value)});
        return {};
    }

    const CommandSpec& command_;
    std::span<const std::string_view> rest_;
    CommandWords result_;
};

}  // namespace

bool CommandWords::has(std::string_view flag) const {
    return std::ranges::any_of(flags, [&](const GivenFlag& g) { return g.flag->name == flag; });
}

std::expected<CommandWords, std::string> split_command_words(
    const CommandSpec& command, std::span<const std::string_view> words) {
    return Splitter(command, words).split();
}

std::string refused_value(const GivenFlag& given, const std::string& expects) {
    std::string sentence = spelled(*given.flag);
    // A password does not belong on the screen or in a log.
    if (given.flag->group != Group::access) sentence.append(" ").append(given.value);
    return sentence + ": " + expects;
}

}  // namespace tiderace::server

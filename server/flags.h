// The commands and flags of the program, once, as data. The command line, the help, the man page
// and the shell completions are all rendered from these tables; defaults are read from
// ServeOptions, lab::LoadOptions and lab::run::RunOptions.
//
// Thread   Constants; any.
// Errors   A value that a flag does not take is a sentence for the person who typed it.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "lab/load/options.h"
#include "lab/run/run_options.h"
#include "server/options.h"
#include "tiderace/base/check.h"

namespace tiderace::server {

// The options of the command that the words are for.
class OptionsOf {
  public:
    OptionsOf(ServeOptions& serve) : serve_(&serve) {}
    OptionsOf(lab::LoadOptions& load) : load_(&load) {}
    OptionsOf(lab::run::RunOptions& run) : run_(&run) {}
    OptionsOf(ServeOptions& serve, lab::LoadOptions& load, lab::run::RunOptions& run)
        : serve_(&serve), load_(&load), run_(&run) {}

    ServeOptions* serve() const { return serve_; }
    lab::LoadOptions* load() const { return load_; }
    lab::run::RunOptions* run() const { return run_; }

  private:
    ServeOptions* serve_ = nullptr;
    lab::LoadOptions* load_ = nullptr;
    lab::run::RunOptions* run_ = nullptr;
};

// A function over the options of one command: a flag's place in them. Converts from a lambda or a
// function that takes the options of a command, those of serve const or not.
template <typename R, typename... Args>
class OptionsCall {
  public:
    using OnServe = R (*)(ServeOptions&, Args...);
    using OnConstServe = R (*)(const ServeOptions&, Args...);
    using OnLoad = R (*)(lab::LoadOptions&, Args...);
    using OnRun = R (*)(lab::run::RunOptions&, Args...);

    template <typename F>
        requires std::is_convertible_v<F, OnServe>
    constexpr OptionsCall(F f) : serve_(f) {}
    template <typename F>
        requires std::is_convertible_v<F, OnConstServe>
    constexpr OptionsCall(F f) : const_serve_(f) {}
    template <typename F>
        requires std::is_convertible_v<F, OnLoad>
    constexpr OptionsCall(F f) : load_(f) {}
    template <typename F>
        requires std::is_convertible_v<F, OnRun>
    constexpr OptionsCall(F f) : run_(f) {}

    R operator()(OptionsOf options, Args... args) const {
        if (load_ != nullptr) {
            TR_CHECK(options.load() != nullptr, "a flag of another command");
            return load_(*options.load(), args...);
        }
        if (run_ != nullptr) {
            TR_CHECK(options.run() != nullptr, "a flag of another command");
            return run_(*options.run(), args...);
        }
        TR_CHECK(options.serve() != nullptr, "a flag of another command");
        return serve_ != nullptr ? serve_(*options.serve(), args...)
                                 : const_serve_(*options.serve(), args...);
    }

  private:
    OnServe serve_ = nullptr;
    OnConstServe const_serve_ = nullptr;
    OnLoad load_ = nullptr;
    OnRun run_ = nullptr;
};

// What a flag writes to. `of` names the field of the options; each kind has its own value syntax.
struct NoField {};  // the command line itself acts on it: --help
struct SwitchField {
    OptionsCall<bool&> of;
    bool sets = true;  // what giving the flag means
};
struct DurationField {
    OptionsCall<Duration&> of;
};
struct BytesField {
    OptionsCall<std::uint64_t&> of;
    std::uint64_t smallest = 0;
    std::uint64_t largest = UINT64_MAX;
};
struct CountField {
    OptionsCall<std::uint64_t&> of;
    std::uint64_t smallest;
    std::uint64_t largest;
};
struct ChoiceField {
    std::span<const std::string_view> names;
    OptionsCall<void, std::size_t> set;
    OptionsCall<std::size_t> get;
    // Which systems have a name that this one has not; "" for none. May be null.
    std::string_view (*systems_of)(std::string_view) = nullptr;
};
// Anything else. `set` says what it expects when the value is not of that form.
struct TextField {
    OptionsCall<std::expected<void, std::string>, std::string_view> set;
    OptionsCall<std::string> get;  // the default's text; "" when there is none
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
    amount,
    request,
    clients,
    expected,
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
    std::string_view program = "tiderace";  // as a person types it
};

std::span<const CommandSpec> commands();
// nullptr: there is no such command.
const CommandSpec* find_command(std::string_view name);

std::string_view group_title(Group group);

// Writes the value into the options, or says what the flag expects (without naming the flag).
std::expected<void, std::string> apply_flag(const Flag& flag, std::string_view value,
                                            OptionsOf options);
// The default as a person would type it, with its unit; "" when there is nothing to say.
std::string default_text(const Flag& flag);
// The words that the flag takes, where they are a closed list.
std::span<const std::string_view> flag_choices(const Flag& flag);
// "a, b or c"
std::string join_choices(std::span<const std::string_view> words);

}  // namespace tiderace::server

#include "server/command_line/command_line.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <optional>

#include "server/command_line/completions.h"
#include "server/command_line/flags.h"
#include "server/command_line/help_text.h"
#include "server/command_line/man_page.h"
#include "server/command_line/suggest.h"
#include "server/command_line/tls_flags.h"
#include "server/config/print_config.h"
#include "server/other_program.h"
#include "server/site/fixed_answer.h"
#include "server/version.h"
#include "tiderace/base/utf8.h"

namespace tiderace::server {
namespace {

using Parsed = std::expected<Command, CliFailure>;

// A flag where the command should stand.
std::string flag_without_command(std::string_view word) {
    const CommandSpec& serve = *find_command("serve");
    const std::string_view name = word.substr(0, word.find('='));
    const bool is_ours = std::ranges::any_of(serve.flags, [&](const FlagHelp& flag) {
        return name == "--" + std::string(flag.name) ||
               (flag.letter && name == std::string{'-', flag.letter});
    });
    // Most likely the command was left out, as it may be with several other servers.
    if (is_ours)
        return std::string(name) + " comes after a command: tiderace serve " + std::string(word);
    return "unknown flag " + std::string(name) +
           "; the first word is a command, as in tiderace serve";
}

Parsed parse_help(const CommandWords& words) {
    if (words.operands.empty()) return Command(Printout{program_help()});
    const CommandSpec* command = find_command(words.operands[0]);
    if (!command) return refuse(unknown_command(words.operands[0], commands()));
    return Command(Printout{command_help(*command)});
}

Parsed parse_completions(const CommandWords& words, const CommandSpec& command) {
    const std::string expects = "expects " + join_choices(command.operand_choices);
    if (words.operands.empty()) return refuse("completions " + expects);
    const std::string& shell = words.operands[0];
    if (shell == "bash") return Command(Printout{bash_completions()});
    if (shell == "zsh") return Command(Printout{zsh_completions()});
    if (shell == "fish") return Command(Printout{fish_completions()});
    std::string sentence = "completions " + shell + ": " + expects;
    const std::string_view nearest = nearest_spelling(shell, command.operand_choices);
    if (!nearest.empty()) sentence.append("; did you mean ").append(nearest).append("?");
    return refuse(std::move(sentence));
}

// Flags that do nothing without others. Their users believe that they do something.
std::optional<std::string> flag_without_effect(const CommandWords& words,
                                               const ServeOptions& options) {
    const auto first_of = [&](std::initializer_list<std::string_view> names) -> std::string {
        for (const std::string_view name : names) {
            if (words.has(name)) return "--" + std::string(name);
        }
        return {};
    };
    const auto any_route = [&](auto has) { return std::ranges::any_of(options.routes, has); };
    if (options.log_files_kept && options.log_rotate_bytes == 0) {
        return "--log-keep needs --log-rotate SIZE: without it no file is rotated";
    }
    const bool logs = options.access_log != "off" ||
                      any_route([](const Route& route) { return route.log.has_value(); });
    if (const auto flag = first_of({"log-format", "log-rotate"}); !logs && !flag.empty()) {
        return flag + " needs --access-log FILE, or - for this terminal";
    }
    const bool has_cgi = any_route([](const Route& route) { return !route.cgi.empty(); });
    if (const auto flag = first_of({"cgi-max", "cgi-memory"}); !has_cgi && !flag.empty()) {
        return flag + " needs --cgi PATH=DIR: it is about these programs";
    }
    if (words.has("cgi-timeout") && !any_route(&Route::runs_programs)) {
        return "--cgi-timeout needs --cgi PATH=DIR or --fastcgi PATTERN=ADDR";
    }
    const bool compresses = options.compress.codings.any() || any_route([](const Route& route) {
                                return route.compress && route.compress->any();
                            });
    const auto flag = first_of({"compress-cache", "compress-min", "compress-max"});
    if (!compresses && !flag.empty()) {
        return flag + " does nothing with --compress off; leave one of the two out";
    }
    if (words.has("compress-cache") && options.cache.bytes_max == 0) {
        return "--compress-cache does nothing with --cache off, which keeps no compressed file";
    }
    return std::nullopt;
}

std::optional<std::string> endless_redirect(const ServeOptions& options) {
    const std::string circle = redirect_circle(options.routes);
    if (circle.empty()) return std::nullopt;
    return "--path-redirect leads in a circle: " + circle + " and so on";
}

// "FILE" is needed, "[DIR]" is not.
std::optional<CliFailure> missing_file(const CommandWords& words, const CommandSpec& command) {
    const bool is_of_nginx = !words.operands.empty() && words.operands[0] == "nginx";
    if (command.name == "import" && (!is_of_nginx || words.operands.size() < 2)) {
        return CliFailure{
            "import reads files of nginx: tiderace import nginx /etc/nginx/nginx.conf"};
    }
    if (command.name == "reload" || command.name == "status" || command.name == "top") {
        const bool has_file = !words.operands.empty();
        if (has_file != words.has("socket")) return std::nullopt;
        const std::string name(command.name);
        return CliFailure{has_file ? "--socket and a file that names it: choose one"
                                   : name + " needs a file, or --socket PATH: tiderace " + name +
                                         " tiderace.toml"};
    }
    if (command.name == "explain" && words.operands.size() < 2) {
        return CliFailure{
            "explain needs a file and a URL: tiderace explain tiderace.toml "
            "https://example.org/"};
    }
    if (!command.operand.starts_with("FILE") || !words.operands.empty()) return std::nullopt;
    const std::string name(command.name);
    return CliFailure{name + " needs a file: tiderace " + name + " tiderace.toml"};
}

bool is_file_tool(std::string_view name) {
    static constexpr std::string_view tools[] = {"init",   "import", "fmt",    "dump", "explain",
                                                 "schema", "reload", "status", "top"};
    return std::ranges::find(tools, name) != std::end(tools);
}

std::size_t operands_max(const CommandSpec& command) {
    // serve has the better message for a second folder.
    for (const std::string_view name : {"serve", "import", "explain"}) {
        if (command.name == name) return SIZE_MAX;
    }
    return command.operand.empty() ? 0 : 1;
}

Parsed parse_command(const CommandSpec& command, std::span<const std::string_view> rest) {
    const auto words = split_command_words(command, rest);
    if (!words) return refuse(words.error());
    // Before anything else is judged: help is wanted most where the rest of the line is wrong.
    if (words->has("help")) return Command(Printout{command_help(command)});
    const std::size_t allowed = operands_max(command);
    if (words->operands.size() > allowed) {
        return refuse(std::string(command.name) + " does not take the word " +
                      words->operands[allowed]);
    }
    if (command.name == "serve") {
        auto options = parse_serve(*words, serve_flags());
        if (!options) return std::unexpected(options.error());
        if (words->has("print-config")) {
            std::string text = config::print_config(*options);
            if (is_utf8(text)) return Command(Printout{std::move(text)});
            return refuse("--print-config prints TOML, which is UTF-8, and a name is not");
        }
        return Command(std::move(*options));
    }
    if (auto missing = missing_file(*words, command)) return std::unexpected(std::move(*missing));
    if (command.name == "run" || command.name == "check") {
        return Command(RunFile{words->operands[0], command.name == "check"});
    }
    if (is_file_tool(command.name)) return Command(FileTool{command.name, *words});
    if (command.name == "new") {
        if (words->operands.empty()) return refuse("new needs a folder: tiderace new boats");
        return Command(NewProject{words->operands[0]});
    }
    if (command.name == "trust") return Command(ShowTrust{});
    if (command.name == "help") return parse_help(*words);
    if (command.name == "man") return Command(Printout{man_page()});
    if (command.name == "completions") return parse_completions(*words, command);
    // Its line about TLS is right only in the program that has TLS, which is started for it
    // (tells_of_tls).
    if (words->has("verbose")) return Command(Printout{version_details(), true});
    return Command(Printout{version_line()});
}

std::string_view other_program(std::string_view command) {
    if (command == "load") return load_program_name;
    if (command == "lab") return lab_program_name;
    if (command == "db") return database_program_name;
    return {};
}

// `lab run`, and `help lab run`, whose page that program has, too.
std::optional<ToProgram> for_other_program(std::span<const std::string_view> words) {
    const bool wants_help = words[0] == "help" && words.size() > 1;
    const std::size_t command = wants_help ? 1 : 0;
    ToProgram other{other_program(words[command]), {}};
    if (other.name.empty()) return std::nullopt;
    if (wants_help) other.words.push_back("help");
    const auto rest = words.subspan(command + 1);
    other.words.insert(other.words.end(), rest.begin(), rest.end());
    return other;
}

}  // namespace

std::string unknown_command(std::string_view word, std::span<const CommandSpec> commands) {
    std::string sentence = "unknown command " + std::string(word);
    const std::string program(commands.front().program);
    std::error_code fault;
    // `tiderace site/` is how several other servers are started.
    if (find_command("serve", commands) != nullptr &&
        (word.find_first_of("./~") != std::string_view::npos ||
         std::filesystem::is_directory(word, fault))) {
        return sentence + "; did you mean " + program + " serve " + std::string(word) + "?";
    }
    std::vector<std::string_view> names;
    for (const CommandSpec& command : commands) names.push_back(command.name);
    const std::string_view nearest = nearest_spelling(word, names);
    if (!nearest.empty()) return sentence.append("; did you mean ").append(nearest).append("?");
    return sentence + "; " + program + " help lists them";
}

// Each flag's form is checked as it is applied; here flags are checked against each other. Of two
// mistakes, the order names the one that is nearer to the typed words.
std::expected<ServeOptions, CliFailure> parse_serve(const CommandWords& words,
                                                    std::span<const ServeFlag> flags) {
    ServeOptions options;
    if (auto applied = apply_flags(words, flags, options); !applied) return refuse(applied.error());
    if (words.operands.size() > 1) {
        return refuse("one folder is served, but two are named: " + words.operands[0] + " and " +
                      words.operands[1]);
    }
    if (!words.operands.empty()) options.root = words.operands[0];
    // `tiderace serve "$SITE"` with SITE unset: to serve this folder instead would publish the
    // wrong one.
    if (options.root.empty()) return refuse("the folder to serve has an empty name");
    // has_tls() reads the disk, so it is called only when TLS is on.
    const auto settled = settle_tls(options, options.tls.on() && has_tls());
    if (!settled) return refuse(settled.error());
    if (words.has("listing") && words.has("no-listing")) {
        return refuse("--listing and --no-listing: choose one");
    }
    if (auto alone = flag_without_effect(words, options)) return refuse(std::move(*alone));
    if (auto endless = endless_redirect(options)) return refuse(std::move(*endless));
    return options;
}

std::expected<Command, CliFailure> parse_command_line(std::span<const std::string_view> words) {
    if (words.empty() || words[0] == "--help" || words[0] == "-h") {
        return Command(Printout{program_help()});
    }
    if (words[0] == "--version" || words[0] == "-V") return Command(Printout{version_line()});
    // Before its flags are read, because only that program knows them (decision 26).
    if (auto other = for_other_program(words)) return Command(std::move(*other));
    const CommandSpec* command = find_command(words[0]);
    if (command) return parse_command(*command, words.subspan(1));
    return refuse(words[0].starts_with('-') ? flag_without_command(words[0])
                                            : unknown_command(words[0], commands()));
}

}  // namespace tiderace::server

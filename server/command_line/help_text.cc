#include "server/command_line/help_text.h"

#include <algorithm>

#include "server/version.h"

namespace tiderace::server {
namespace {

constexpr std::size_t page_columns = 80;
constexpr std::size_t margin_columns = 2;
constexpr std::size_t about_column = 29;

// One entry in two columns; the right one goes on a line of its own when the left is too long.
void add_entry(std::string& page, std::string_view left, std::string_view right,
               std::size_t column) {
    std::string line(margin_columns, ' ');
    line += left;
    if (line.size() + 2 > column) {
        page.append(line).append("\n");
        line.clear();
    }
    line.append(column - line.size(), ' ');
    page.append(line).append(wrap(right, page_columns - column, column)).append("\n");
}

std::string usage_line(const CommandSpec& command) {
    std::string line = "Usage: " + std::string(command.program) + " " + std::string(command.name);
    if (!command.operand.empty()) line.append(" ").append(command.operand);
    // --help alone, which every command has, is not worth the word.
    return line.append(command.flags.size() > 1 ? " [flags]\n" : "\n");
}

}  // namespace

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
    std::string wrapped;
    std::size_t line_columns = 0;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        // A word that is wider than the column stands alone: cut URLs and flags cannot be copied.
        if (line_columns > 0 && line_columns + 1 + word.size() > width) {
            wrapped.append("\n").append(indent, ' ');
            line_columns = 0;
        }
        if (line_columns > 0) {
            wrapped += ' ';
            ++line_columns;
        }
        wrapped += word;
        line_columns += word.size();
    }
    return wrapped;
}

std::string flag_usage(const FlagHelp& flag, bool align) {
    std::string usage;
    if (flag.letter != 0) {
        usage.append("-").append(1, flag.letter).append(", ");
    } else if (align) {
        usage = "    ";
    }
    usage.append("--").append(flag.name);
    if (flag.is_switch()) return usage;
    // Such a value needs '=': the word behind a space is the folder.
    if (!flag.value_if_bare.empty()) return usage.append("[=").append(flag.value).append("]");
    return usage.append(" ").append(flag.value);
}

std::string flag_description(const FlagHelp& flag) {
    std::string text(flag.about);
    if (!flag.choices.empty()) text.append(": ").append(join_choices(flag.choices));
    if (flag.repeatable) text += "; repeatable";
    if (!flag.default_text.empty()) text.append(" (default ").append(flag.default_text).append(")");
    return text;
}

std::string command_help(const CommandSpec& command) {
    std::string page = usage_line(command);
    page.append("\n").append(wrap(command.about, page_columns, 0)).append("\n");
    const FlagHelp* previous = nullptr;
    for (const FlagHelp& flag : command.flags) {
        if (!previous || previous->group != flag.group) {
            // The flags are in the order of their groups, so that the ends show whether there is
            // one only.
            const bool is_only_group = command.flags.front().group == command.flags.back().group;
            page.append("\n")
                .append(is_only_group ? "Flags" : group_title(flag.group))
                .append("\n");
        }
        add_entry(page, flag_usage(flag, true), flag_description(flag), about_column);
        previous = &flag;
    }
    // Only its flags have times and sizes of so many kinds, and only it is ended by signals in
    // steps.
    if (command.name == "serve") {
        page +=
            "\nTIME is a number with a unit: 500ms, 10s, 2m, 1h; 0 is no limit. SIZE is bytes,\n"
            "or 64KiB, 1MiB, 1GiB; KB, MB and GB count in thousands.\n\n"
            "Signals\n"
            "  SIGINT, SIGTERM            finish running answers and stop; a second one\n"
            "                             stops at once (Ctrl-C is SIGINT)\n"
            "  SIGHUP, SIGUSR1            reopen the log files and check the certificates\n";
    }
    return page;
}

std::string command_list(std::span<const CommandSpec> commands) {
    std::string list;
    for (const CommandSpec& command : commands) {
        std::string left(command.name);
        if (!command.operand.empty()) left.append(" ").append(command.operand);
        if (command.name == "version") left += " [-v]";
        add_entry(list, left, command.about, 23);
    }
    return list;
}

std::string program_help() {
    std::string page = "tiderace " + std::string(version()) +
                       ": serves a folder over HTTP and HTTPS\n\n"
                       "Usage: tiderace COMMAND [flags]\n\nCommands\n";
    page += command_list(commands());
    page += "\nExamples\n";
    add_entry(page, "tiderace serve", "this folder, at http://localhost:8080", 42);
    add_entry(page, "tiderace serve site --open", "a site, and a browser to see it", 42);
    add_entry(page, "tiderace serve --listen :80 --listing", "to everybody, folders listed", 42);
    add_entry(page, "tiderace serve --tls-self-signed", "over https, for development", 42);
    page += "\ntiderace help serve explains every flag.\n";
    return page;
}

std::string_view group_title(Group group) {
    switch (group) {
        case Group::as_above:
            break;
        case Group::listening:
            return "Addresses";
        case Group::encryption:
            return "TLS";
        case Group::content:
            return "Files and folders";
        case Group::answers:
            return "Response fields";
        case Group::access:
            return "Access";
        case Group::logging:
            return "Logs";
        case Group::engine:
            return "Threads, engine and caches";
        case Group::limits:
            return "Limits and time-outs";
        case Group::amount:
            return "Amount";
        case Group::request:
            return "Requests";
        case Group::clients:
            return "Clients";
        case Group::expected:
            return "Expected answers";
        case Group::other:
            return "Other";
    }
    return {};
}

}  // namespace tiderace::server

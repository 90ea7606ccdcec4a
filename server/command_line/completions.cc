#include "server/command_line/completions.h"

#include <vector>

#include "server/command_line/flags.h"
#include "server/terminal.h"

namespace tiderace::server {
namespace {

std::string join(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words) {
        if (!text.empty()) text += ' ';
        text += word;
    }
    return text;
}

std::string every_command() {
    std::vector<std::string_view> names;
    for (const CommandSpec& command : commands()) names.push_back(command.name);
    return join(names);
}

// `text` with a backslash before each of `special`.
std::string escaped(std::string_view text, std::string_view special) {
    std::string copy;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos) copy += '\\';
        copy += c;
    }
    return copy;
}

// "serve:--listen|serve:-l"
std::string bash_pattern(const CommandSpec& command, const FlagHelp& flag) {
    std::string pattern = std::string(command.name) + ":--" + std::string(flag.name);
    if (flag.letter != 0) {
        pattern.append("|").append(command.name).append(":-").append(1, flag.letter);
    }
    return pattern;
}

// A folder is what most operands are; a URL is not.
bool is_folder(const CommandSpec& command) {
    return command.operand.find("DIR") != std::string_view::npos;
}

// Bash's suggestions after each flag that takes a value of its own.
std::string bash_values(const CommandSpec& command) {
    std::string cases;
    for (const FlagHelp& flag : command.flags) {
        if (!flag.takes_next_word()) continue;
        cases.append("        ").append(bash_pattern(command, flag)).append(") ");
        if (!flag.choices.empty()) {
            cases.append("COMPREPLY=($(compgen -W '").append(join(flag.choices));
            cases.append("' -- \"$word\"))");
        } else if (flag.completes == Completes::file) {
            cases += "COMPREPLY=($(compgen -f -- \"$word\"))";
        } else if (flag.completes == Completes::directory) {
            cases += "COMPREPLY=($(compgen -d -- \"$word\"))";
        } else {
            cases += "COMPREPLY=()";
        }
        cases += "; return ;;\n";
    }
    return cases;
}

std::string bash_flags(const CommandSpec& command) {
    std::string words;
    for (const FlagHelp& flag : command.flags) {
        if (!words.empty()) words += ' ';
        words.append("--").append(flag.name);
        if (flag.letter != 0) words.append(" -").append(1, flag.letter);
    }
    return words;
}

// One line of zsh's _arguments: '(-l --listen)*'{-l,--listen}'[about]:ADDR:…'
std::string zsh_argument(const FlagHelp& flag) {
    const std::string name = "--" + std::string(flag.name);
    std::string line;
    if (flag.letter != 0) {
        const std::string letter = std::string("-") + flag.letter;
        line = flag.repeatable ? "'*'" : "'(" + letter + " " + name + ")'";
        line.append("{").append(letter).append(",").append(name).append("}");
    } else {
        line = flag.repeatable ? "'*'" + name : name;
    }
    // An optional value follows '=' only, or the next word would be taken for it.
    if (!flag.is_switch() && !flag.value_if_bare.empty()) line += "=-";
    std::string rest = "[" + escaped(flag.about, "[]\\") + "]";
    if (!flag.is_switch()) {
        rest.append(flag.value_if_bare.empty() ? ":" : "::")
            .append(escaped(flag.value, ":"))
            .append(":");
        if (!flag.choices.empty()) rest.append("(").append(join(flag.choices)).append(")");
        if (flag.completes == Completes::file) rest += "_files";
        if (flag.completes == Completes::directory) rest += "_directories";
    }
    return line + shell_quoted(rest);
}

std::string zsh_operand(const CommandSpec& command) {
    if (command.operand.empty()) return {};
    if (is_folder(command)) return " '::folder:_directories'";
    if (command.operand_choices.empty()) return " '::word:'";
    return " '::word:(" + join(command.operand_choices) + ")'";
}

std::string fish_condition(const CommandSpec& command) {
    return "'__fish_seen_subcommand_from " + std::string(command.name) + "'";
}

std::string fish_flag(const CommandSpec& command, const FlagHelp& flag) {
    std::string line = "complete -c tiderace -n " + fish_condition(command);
    line.append(" -l ").append(flag.name);
    if (flag.letter != 0) line.append(" -s ").append(1, flag.letter);
    if (flag.takes_next_word()) {
        line += flag.completes == Completes::file ? " -r -F" : " -x";
        if (!flag.choices.empty()) line.append(" -a '").append(join(flag.choices)).append("'");
        if (flag.completes == Completes::directory) line += " -a '(__fish_complete_directories)'";
    }
    return line.append(" -d '").append(escaped(flag.about, "'\\")).append("'\n");
}

}  // namespace

// Bash has no descriptions, so that a word list is all it needs. COMP_WORDS is split at '=' as well
// (COMP_WORDBREAKS), so flags with an optional value, which needs it, are offered without one.
std::string bash_completions() {
    std::string script =
        "# bash completion for tiderace\n"
        "_tiderace() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    if ((COMP_CWORD == 1)); then\n"
        "        COMPREPLY=($(compgen -W '" +
        every_command() +
        "' -- \"$word\"))\n"
        "        return\n"
        "    fi\n"
        "    case ${COMP_WORDS[1]}:$previous in\n";
    for (const CommandSpec& command : commands()) script += bash_values(command);
    script +=
        "    esac\n"
        "    case ${COMP_WORDS[1]} in\n";
    for (const CommandSpec& command : commands()) {
        script.append("        ")
            .append(command.name)
            .append(")\n            if [[ $word == -* ]]; then\n");
        script.append("                COMPREPLY=($(compgen -W '").append(bash_flags(command));
        script += "' -- \"$word\"))\n";
        if (is_folder(command) || !command.operand_choices.empty()) {
            script += "            else\n                COMPREPLY=($(compgen ";
            if (command.operand_choices.empty()) {
                script += "-d";
            } else {
                script.append("-W '").append(join(command.operand_choices)).append("'");
            }
            script += " -- \"$word\"))\n";
        }
        script += "            fi ;;\n";
    }
    // -o filenames: bash adds the slash behind folders, and quotes names with spaces.
    return script += "    esac\n}\ncomplete -o filenames -F _tiderace tiderace\n";
}

std::string zsh_completions() {
    std::string script =
        "#compdef tiderace\n\n_tiderace() {\n    local -a commands\n    commands=(\n";
    for (const CommandSpec& command : commands()) {
        script.append("        ");
        script.append(shell_quoted(std::string(command.name) + ":" + escaped(command.about, ":")));
        script += '\n';
    }
    script +=
        "    )\n"
        "    if ((CURRENT == 2)); then\n"
        "        _describe command commands\n"
        "        return\n"
        "    fi\n"
        "    local command=$words[2]\n"
        // _arguments expects the command's own words, so the program's name goes.
        "    shift words\n"
        "    ((CURRENT--))\n"
        "    case $command in\n";
    for (const CommandSpec& command : commands()) {
        script.append("        ").append(command.name).append(")\n            _arguments");
        for (const FlagHelp& flag : command.flags) {
            script.append(" \\\n                ").append(zsh_argument(flag));
        }
        if (const std::string operand = zsh_operand(command); !operand.empty()) {
            script.append(" \\\n               ").append(operand);
        }
        script += " ;;\n";
    }
    return script += "    esac\n}\n\n_tiderace \"$@\"\n";
}

std::string fish_completions() {
    // -f: no files, except for flags with -F.
    std::string script = "# fish completion for tiderace\ncomplete -c tiderace -f\n";
    for (const CommandSpec& command : commands()) {
        script.append("complete -c tiderace -n __fish_use_subcommand -a ").append(command.name);
        script.append(" -d '").append(escaped(command.about, "'\\")).append("'\n");
        for (const FlagHelp& flag : command.flags) script += fish_flag(command, flag);
        if (!is_folder(command) && command.operand_choices.empty()) continue;
        script.append("complete -c tiderace -n ").append(fish_condition(command)).append(" -a '");
        script +=
            is_folder(command) ? "(__fish_complete_directories)" : join(command.operand_choices);
        script += "'\n";
    }
    return script;
}

}  // namespace tiderace::server

// The program that works on files and folders before they are served. `tiderace` has parsed
// the same words, and prints what is wrong with them.
#include <string_view>
#include <variant>
#include <vector>

#include "server/command_line/command_line.h"
#include "server/config/tools.h"
#include "server/new_project.h"
#include "server/terminal.h"

int main(int argc, char** argv) {
    namespace server = tiderace::server;
    constexpr std::string_view program = "tiderace";
    server::occupy_standard_streams();
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    const auto command = server::parse_command_line(words);
    if (!command) {
        server::complain(program, command.error().sentence);
        return command.error().exit_status;
    }
    if (const auto* tool = std::get_if<server::FileTool>(&*command)) {
        return server::config::use_tool(*tool);
    }
    const auto* project = std::get_if<server::NewProject>(&*command);
    if (project == nullptr) {
        server::complain(program, "tiderace-tools has no such command; tiderace has");
        return 2;
    }
    const auto text = server::make_project(project->folder);
    if (text) return server::print(program, *text);
    server::complain(program, text.error().message());
    return 1;
}

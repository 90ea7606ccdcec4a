// The program of `tiderace load`: a load for a server.
#include <string_view>
#include <vector>

#include "load/load.h"
#include "server/command_line/load_command_line.h"
#include "server/terminal.h"

int main(int argc, char** argv) {
    namespace server = tiderace::server;
    constexpr std::string_view program = "tiderace";
    server::occupy_standard_streams();
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    const auto command = server::parse_load_command_line(words);
    if (!command) {
        server::complain(program, command.error().sentence);
        return command.error().exit_status;
    }
    if (const auto* printout = std::get_if<server::Printout>(&*command)) {
        return server::print(program, printout->text);
    }
    return tiderace::load::run_command(std::get<tiderace::load::LoadOptions>(*command));
}

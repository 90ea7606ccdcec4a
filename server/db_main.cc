// The program of `tiderace db`: the migrations of a database.
#include <string_view>
#include <vector>

#include "server/db_commands.h"
#include "server/terminal.h"

int main(int argc, char** argv) {
    namespace server = tiderace::server;
    constexpr std::string_view program = "tiderace db";
    server::occupy_standard_streams();
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    const auto command = server::parse_database_command_line(words);
    if (!command) {
        server::complain(program, command.error().sentence);
        return command.error().exit_status;
    }
    if (const auto* printout = std::get_if<server::Printout>(&*command)) {
        return server::print(program, printout->text);
    }
    const auto outcome = server::run_database_command(std::get<server::DatabaseOptions>(*command));
    const int printed = outcome.text.empty() ? 0 : server::print(program, outcome.text);
    if (outcome.complaint.empty()) return printed;
    server::complain(program, outcome.complaint);
    return 1;
}

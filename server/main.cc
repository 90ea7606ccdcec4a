// The program: reads the command line, then prints or serves.
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "server/assemble.h"
#include "server/command_line/command_line.h"
#include "server/config/check.h"
#include "server/other_program.h"
#include "server/terminal.h"
#include "server/trust.h"
#include "tiderace/net/serving.h"
#include "tiderace/tls/library.h"
#include "tiderace/tls/self_signed.h"

namespace {

namespace server = tiderace::server;

constexpr std::string_view program = "tiderace";

int show_trust() {
    const auto certificate = tiderace::tls::self_signed();
    if (certificate) return server::print(program, server::trust_text(*certificate));
    server::complain(program, certificate.error().message());
    return 1;
}

int run(const std::string& file, std::span<const std::string_view> words) {
    const auto become = [&] { return server::become_program(server::tls_program_name, words); };
    const bool may_become = !tiderace::tls::is_built_in() && server::has_tls();
    // The other program reads the file anew, and a pipe can be read once.
    std::error_code fault;
    if (may_become && std::filesystem::is_fifo(file, fault)) return become();
    auto loaded = server::config::load_config(file);
    const bool wants_tls = loaded.config && loaded.config->server.tls.on();
    if (wants_tls && may_become) return become();
    std::fputs(loaded.problems.c_str(), stderr);
    if (!loaded.config) return 1;
    if (wants_tls && !tiderace::tls::is_built_in()) {
        server::complain(program, "this program was built without TLS, and the file has [tls]");
        return 1;
    }
    return server::config::run(std::move(loaded), file);
}

}  // namespace

int main(int argc, char** argv) {
    // A signal that comes while the server starts must not end the process.
    tiderace::net::hold_server_signals();
    server::occupy_standard_streams();
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    auto command = server::parse_command_line(words);
    if (!command) {
        server::complain(program, command.error().sentence);
        return command.error().exit_status;
    }
    auto* serve = std::get_if<server::ServeOptions>(&*command);
    const auto* file = std::get_if<server::RunFile>(&*command);
    if (file != nullptr && !file->only_check) return run(file->file, words);
    // The mask outlives the exec, and the program with TLS serves in our place.
    if (serve == nullptr) tiderace::net::release_server_signals();
    // Decision 10: this program is built without OpenSSL, and hands over where TLS is needed.
    if (!tiderace::tls::is_built_in() && server::asks_for_tls(*command) && server::has_tls()) {
        return server::become_program(server::tls_program_name, words);
    }
    if (const auto* printout = std::get_if<server::Printout>(&*command)) {
        return server::print(program, printout->text);
    }
    if (file != nullptr) return server::config::check(file->file);
    if (std::holds_alternative<server::FileTool>(*command) ||
        std::holds_alternative<server::NewProject>(*command)) {
        return server::become_program(server::tools_program_name, words);
    }
    if (std::holds_alternative<server::ShowTrust>(*command)) return show_trust();
    if (const auto* other = std::get_if<server::ToProgram>(&*command)) {
        return server::become_program(other->name, other->words);
    }
    return server::serve({.options = std::move(*serve)});
}

// The lab's program: the server on any of its engines, and the list of them.
#include <unistd.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/engine/engine.h"
#include "lab/report/report.h"
#include "lab/run/run.h"
#include "server/assemble.h"
#include "server/lab_commands.h"
#include "server/terminal.h"
#include "tiderace/net/serving.h"

namespace {

namespace lab = tiderace::lab;
namespace server = tiderace::server;

constexpr std::string_view program = "tiderace lab";

// The lab measures on its user's own folders and serves no one else, so it stays root.
int serve_on_engine(server::ServeOptions options) {
    if (!options.user && ::geteuid() == 0) options.user = "root";
    const auto* engine = lab::engine::find_engine(options.engine);
    if (engine == nullptr) return server::serve(std::move(options));  // "auto"
    const std::unique_ptr<tiderace::net::ThreadingModel> threading_model = engine->make();
    return server::serve(std::move(options), *threading_model);
}

}  // namespace

int main(int argc, char** argv) {
    // A signal that comes while the server starts must not end the process.
    tiderace::net::hold_server_signals();
    server::occupy_standard_streams();
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    auto command = server::parse_lab_command_line(words);
    if (!command) {
        server::complain(program, command.error().sentence);
        return command.error().exit_status;
    }
    auto* serve = std::get_if<server::ServeOptions>(&*command);
    // A run or a listing of engines ends with Ctrl-C in the ordinary way.
    if (serve == nullptr) tiderace::net::release_server_signals();
    if (const auto* printout = std::get_if<server::Printout>(&*command)) {
        return server::print(program, printout->text);
    }
    if (const auto* run = std::get_if<lab::run::RunOptions>(&*command)) {
        return lab::run::run(*run);
    }
    if (const auto* report = std::get_if<lab::report::ReportOptions>(&*command)) {
        return lab::report::report(*report);
    }
    return serve_on_engine(std::move(*serve));
}

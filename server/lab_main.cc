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
#include "tiderace/core/cpu_count.h"
#include "tiderace/net/serving.h"

namespace {

namespace lab = tiderace::lab;
namespace server = tiderace::server;
using lab::engine::ThreadingModel;

std::size_t cpus() {
    return tiderace::core::count_cpus().usable;
}

constexpr std::string_view program = "tiderace lab";

// Which loops the model has for these options.
server::Loops loops_of(const server::ServeOptions& options, ThreadingModel& model) {
    const std::size_t count = model.count_loops(options.threads, cpus());
    const std::string_view listening = model.core_engine(options.engine);
    return {.count = count,
            .make =
                [&model, count](const tiderace::core::LoopOptions& each) {
                    return model.make_loops(count, each);
                },
            .listens_apart = model.listens_apart(),
            // Of core's own engines the server may have to take another.
            .listening_engine = std::string(listening == options.engine ? "" : listening),
            .small = model.has_small_loops(),
            .on_serving = [&model] { model.note_serving(); }};
}

// The exit status. A model of several processes forks them when the sockets are bound, and this one
// watches over them.
tiderace::Result<int> serve_on(server::ServeOptions options, ThreadingModel& model) {
    const std::size_t processes = model.count_processes(options.threads, cpus());
    const auto drain = options.timeouts.drain_or_never();
    const server::Loops loops = loops_of(options, model);
    server::Assembly assembly({.options = std::move(options)});
    if (auto opened = assembly.open(); !opened) return fail(opened.error());
    if (processes > 0) {
        const auto ended = model.split(processes, assembly.signals(),
                                       {.on_serving = [&] { assembly.announce(processes); },
                                        .on_drain = [&] { assembly.stop_listening(); },
                                        .drain = drain});
        if (ended) return *ended;
        if (auto is_one = assembly.become_one_of_many(); !is_one) return fail(is_one.error());
    }
    if (auto served = assembly.serve(loops); !served) return fail(served.error());
    return 0;
}

// The lab measures on its user's own folders and serves no one else, so it stays root.
int serve_on_engine(server::ServeOptions options) {
    if (!options.user && ::geteuid() == 0) options.user = "root";
    const auto* engine = lab::engine::find_engine(options.engine);
    if (engine == nullptr) return server::serve({.options = std::move(options)});  // "auto"
    const std::unique_ptr<ThreadingModel> model = engine->make();
    return server::report([&] { return serve_on(std::move(options), *model); });
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

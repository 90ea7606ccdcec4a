// The lab's program: the server on any of its engines, and what tells about them.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/engine/engine.h"
#include "lab/report/report.h"
#include "lab/run/run.h"
#include "server/assemble.h"
#include "server/lab_commands.h"

namespace {

int print(const std::string& text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if ((written && std::fflush(stdout) == 0) || errno == EPIPE) return 0;
    std::perror("tiderace lab: cannot write to standard output");
    return 1;
}

int serve_on_engine(const tiderace::server::ServeOptions& options) {
    const auto* engine = tiderace::lab::engine::find_engine(options.engine);
    if (engine == nullptr) return tiderace::server::serve(options);  // "auto"
    const std::unique_ptr<tiderace::net::Arrangement> arrangement = engine->make();
    return tiderace::server::serve(options, *arrangement);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    auto command = tiderace::server::parse_lab_command_line(words);
    if (!command) {
        // The sentence repeats words of the command line: none of them may write to the terminal.
        std::string sentence = std::move(command.error().sentence);
        std::ranges::replace_if(
            sentence, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
        std::fprintf(stderr, "tiderace lab: %s\n", sentence.c_str());
        return command.error().exit_status;
    }
    if (const auto* printout = std::get_if<tiderace::server::Printout>(&*command)) {
        return print(printout->text);
    }
    if (const auto* run = std::get_if<tiderace::lab::run::RunOptions>(&*command)) {
        return tiderace::lab::run::run(*run);
    }
    if (const auto* report = std::get_if<tiderace::lab::report::ReportOptions>(&*command)) {
        return tiderace::lab::report::report(*report);
    }
    return serve_on_engine(std::get<tiderace::server::ServeOptions>(*command));
}

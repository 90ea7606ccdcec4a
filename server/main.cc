// The program: reads the command line, then prints, serves or loads.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "lab/load.h"
#include "server/assemble.h"
#include "server/cli.h"
#include "server/other_program.h"
#include "server/trust.h"
#include "tiderace/tls/library.h"

namespace {

int print(const std::string& text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (written && std::fflush(stdout) == 0) return 0;
    // A reader such as `head` that has seen enough is no fault.
    if (errno == EPIPE) return 0;
    std::perror("tiderace: cannot write to standard output");
    return 1;
}

int show_trust() {
    const auto certificate = tiderace::server::local_certificate();
    if (certificate) return print(tiderace::server::trust_text(*certificate));
    std::fprintf(stderr, "tiderace: %s\n", certificate.error().message().c_str());
    return 1;
}

// Parsing leaves the heap in tatters; a server that idles for months should not keep them.
void return_free_memory() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

}  // namespace

int main(int argc, char** argv) {
    namespace server = tiderace::server;
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    auto command = server::parse_command_line(words);
    if (!command) {
        // The sentence repeats words of the command line: none of them may write to the terminal.
        std::string sentence = std::move(command.error().sentence);
        std::ranges::replace_if(
            sentence, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
        std::fprintf(stderr, "tiderace: %s\n", sentence.c_str());
        return command.error().exit_status;
    }
    if (!tiderace::tls::is_built_in() && server::has_tls() && server::asks_for_tls(*command)) {
        return server::become_program(server::tls_program_name, words);
    }
    if (const auto* printout = std::get_if<server::Printout>(&*command)) {
        return print(printout->text);
    }
    if (std::holds_alternative<server::ShowTrust>(*command)) return show_trust();
    if (const auto* load = std::get_if<tiderace::lab::LoadOptions>(&*command)) {
        return tiderace::lab::load(*load);
    }
    if (std::holds_alternative<server::ToLab>(*command)) {
        return server::become_program(server::lab_program_name, std::span(words).subspan(1));
    }
    return_free_memory();
    return server::serve(std::get<server::ServeOptions>(*command));
}

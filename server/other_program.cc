#include "server/other_program.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

#include "server/terminal.h"
#include "tiderace/tls/library.h"

namespace tiderace::server {

Result<std::string> find_program(std::string_view name, const std::optional<std::string>& folder) {
    if (!folder) {
        return fail(Error(0, "find", name, "this system does not say where its neighbours are"));
    }
    std::string program = *folder + "/" + std::string(name);
    // Only beside this program: another tiderace on the PATH may be of another version.
    if (core::find_program(program)) return program;
    return fail(Error(ENOENT, "find", program,
                      "it is a program of its own; ./dev build makes it beside this one"));
}

bool has_tls() {
    return tls::is_built_in() || find_program(tls_program_name);
}

// `tiderace serve` in clear text stays in this process: it is the reason for a program without
// OpenSSL.
bool asks_for_tls(const Command& command) {
    if (const auto* serve = std::get_if<ServeOptions>(&command)) return serve->tls.on();
    if (const auto* printout = std::get_if<Printout>(&command)) return printout->tells_of_tls;
    return std::holds_alternative<ShowTrust>(command);
}

int become_program(std::string_view name, std::span<const std::string_view> words) {
    const auto program = find_program(name);
    if (!program) {
        complain("tiderace", program.error().message());
        return 1;
    }
    // execv() takes texts that end with NUL and may be written to.
    std::vector<std::string> copies(words.begin(), words.end());
    std::vector<char*> arguments{const_cast<char*>(program->c_str())};
    for (std::string& word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // The same process: a supervisor that watches our number, and the terminal, notice nothing.
    ::execv(program->c_str(), arguments.data());
    complain("tiderace", Error::last("run", *program).message());
    return 1;
}

}  // namespace tiderace::server

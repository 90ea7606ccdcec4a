#include "server/other_program.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "server/terminal.h"
#include "tiderace/tls/library.h"

namespace tiderace::server {

std::string own_folder() {
    std::error_code fault;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", fault);
    return fault ? std::string(".") : program.parent_path().string();
}

Result<std::string> find_program(std::string_view name, const std::string& folder) {
    std::string program = folder + "/" + std::string(name);
    if (::access(program.c_str(), X_OK) == 0) return program;
    return fail(Error(errno, "find", program,
                      "it is a program of its own; ./dev build makes it beside this one"));
}

bool has_tls() {
    return tls::is_built_in() || find_program(tls_program_name);
}

bool asks_for_tls(const Command& command) {
    if (const auto* serve = std::get_if<ServeOptions>(&command)) return serve->tls.on();
    if (const auto* load = std::get_if<lab::LoadOptions>(&command)) {
        return load->url.starts_with("https:");
    }
    if (const auto* printout = std::get_if<Printout>(&command)) return printout->tells_of_tls;
    return std::holds_alternative<ShowTrust>(command);
}

int become_program(std::string_view name, std::span<const std::string_view> words) {
    const auto program = find_program(name);
    if (!program) {
        complain("tiderace", program.error().message());
        return 1;
    }
    std::vector<std::string> copies(words.begin(), words.end());
    std::vector<char*> arguments{const_cast<char*>(program->c_str())};
    for (std::string& word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(program->c_str(), arguments.data());
    complain("tiderace", Error::last("run", *program).message());
    return 1;
}

}  // namespace tiderace::server

#include "server/lab_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <vector>

namespace tiderace::server {
namespace {

std::string own_folder() {
    std::error_code fault;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", fault);
    return fault ? std::string(".") : program.parent_path().string();
}

}  // namespace

Result<std::string> find_lab_program(const std::string& folder) {
    std::string program = folder + "/" + std::string(lab_program_name);
    if (::access(program.c_str(), X_OK) == 0) return program;
    return fail(Error(errno, "find the lab", program,
                      "it is a program of its own; ./dev build makes it beside this one"));
}

int run_lab_program(std::span<const std::string> words) {
    const auto program = find_lab_program(own_folder());
    if (!program) {
        std::fprintf(stderr, "tiderace: %s\n", program.error().message().c_str());
        return 1;
    }
    std::vector<char*> arguments{const_cast<char*>(program->c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(program->c_str(), arguments.data());
    const Error fault = Error::last("run", *program);
    std::fprintf(stderr, "tiderace: %s\n", fault.message().c_str());
    return 1;
}

}  // namespace tiderace::server

#include "server/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "tiderace/base/result.h"

namespace tiderace::server {

std::string printable(std::string_view text) {
    std::string shown(text);
    std::ranges::replace_if(shown, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return shown;
}

int print(std::string_view program, std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if ((written && std::fflush(stdout) == 0) || errno == EPIPE) return 0;
    complain(program, "cannot write to standard output: " + describe_errno(errno));
    return 1;
}

void complain(std::string_view program, std::string_view sentence) {
    const std::string line = std::string(program) + ": " + printable(sentence) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace tiderace::server

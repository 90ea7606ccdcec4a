#include "server/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "tiderace/base/ascii.h"
#include "tiderace/base/check.h"
#include "tiderace/base/result.h"

namespace tiderace::server {

// The text may come from a client or a file name: an escape sequence could change the title,
// the colours, or what a terminal believes was typed.
std::string printable(std::string_view text) {
    std::string shown;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        // U+0080 to U+009F in UTF-8. Terminals take them for ESC and a letter: U+009B begins a
        // sequence, as ESC [ does (ECMA-48, 5.3).
        const bool is_c1 = byte == 0xc2 && next >= 0x80 && next <= 0x9f;
        shown += is_c1 || is_control_character(text[i]) ? '?' : text[i];
        if (is_c1) ++i;
    }
    return shown;
}

// In '...' a quote ends the string, comes escaped, and reopens it.
std::string shell_quoted(std::string_view text) {
    std::string quoted = "'";
    for (const char c : text) c == '\'' ? quoted += "'\\''" : quoted += c;
    return quoted += '\'';
}

std::string shell_word(std::string_view text) {
    const auto is_plain = [](char c) {
        return is_letter_or_digit(c) || std::string_view("-._/").contains(c);
    };
    const bool may_stay = !text.empty() && std::ranges::all_of(text, is_plain);
    return may_stay ? std::string(text) : shell_quoted(text);
}

std::string counted(std::size_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

int print(std::string_view program, std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    // fflush() as well: what the buffer still holds would fail unseen at the exit.
    // `tiderace man | head` is no failure.
    if ((written && std::fflush(stdout) == 0) || errno == EPIPE) return 0;
    complain(program, "cannot write to standard output: " + describe_errno(errno));
    return 1;
}

void complain(std::string_view program, std::string_view sentence) {
    // One write, so that lines of several processes do not mix.
    const std::string line = std::string(program) + ": " + printable(sentence) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

void occupy_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        // A socket would otherwise get the number 0, 1 or 2, and the banner would be sent to a
        // client.
        if (::fcntl(stream, F_GETFD) >= 0) continue;
        // The lowest free number is this one. Where there is no /dev/null, what cannot be written
        // to is as good. Not O_CLOEXEC: the programs that this one turns into need it as well.
        int opened = ::open("/dev/null", O_RDWR);
        if (opened < 0) opened = ::open("/", O_RDONLY);
        TR_CHECK(opened == stream, "a closed standard stream cannot be opened");
    }
}

}  // namespace tiderace::server

#include "load/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "tiderace/base/utf8.h"

namespace tiderace::load {
namespace {

// To the first column, and erases what stands there (ECMA-48, EL).
constexpr const char* over = "\r\x1b[K";

// Read for each line: a window may change its size at any time.
std::size_t columns_of(int terminal) {
    winsize size{};
    return ::ioctl(terminal, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::string_view cut_to(std::string_view text, std::size_t columns) {
    if (columns == 0) return text;
    std::size_t width = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (begins_character(text[i]) && ++width == columns) return text.substr(0, i);
    }
    return text;
}

ProgressLine::ProgressLine(std::FILE* file)
    : file_(file), on_terminal_(::isatty(::fileno(file)) != 0) {}

void ProgressLine::show(std::string_view text) {
    if (!on_terminal_) return;
    const std::string_view shown = cut_to(text, columns_of(::fileno(file_)));
    std::fputs(over, file_);
    std::fwrite(shown.data(), 1, shown.size(), file_);
    // It has no line end, for which the buffer would wait.
    std::fflush(file_);
}

void ProgressLine::clear() {
    if (!on_terminal_) return;
    std::fputs(over, file_);
    std::fflush(file_);
}

}  // namespace tiderace::load

#include "tiderace/http/cgi/error_lines.h"

#include <algorithm>

#include "tiderace/base/ascii.h"
#include "tiderace/core/contain.h"

namespace tiderace::http::cgi {

// Lines are lost without memory; what the program answers is not.
void ErrorLines::feed(ByteView bytes) {
    if (log_ != nullptr) core::contain(log_, "cgi", "a line", [&] { take(bytes); });
}

void ErrorLines::take(ByteView bytes) {
    while (!bytes.empty() && lines_ <= lines_max) {
        const std::size_t newline = bytes.find('\n');
        const ByteView part = bytes.substr(0, newline);
        // The rest of a longer line is dropped: a program may write for ever without a newline.
        line_.append(part.substr(0, line_bytes_max - line_.size()));
        if (newline == ByteView::npos) return;
        bytes.remove_prefix(newline + 1);
        write();
    }
}

void ErrorLines::end() {
    if (!line_.empty()) core::contain(log_, "cgi", "a line", [this] { write(); });
}

void ErrorLines::write() {
    if (line_.ends_with('\r')) line_.pop_back();
    if (lines_ < lines_max && !line_.empty()) {
        std::ranges::replace_if(
            // Control characters could forge lines of the log, or command the terminal that shows
            // it.
            line_, is_control_character, '?');
        log_->warning("cgi", "a program wrote to its standard error",
                      log::field("program", *program_), log::field("line", line_));
    }
    if (++lines_ == lines_max + 1) {
        log_->warning("cgi",
                      "a program writes too many lines to its standard error; the rest is "
                      "dropped",
                      log::field("program", *program_));
    }
    line_.clear();
}

}  // namespace tiderace::http::cgi

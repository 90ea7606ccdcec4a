// ProgressLine: one line of a terminal that is written over again and again.
//
// Cut to the terminal's width: a line that wraps is erased only from its last row on, so that each
// new one would leave a row of the last behind.
//
// Thread   One.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace tiderace::load {

class ProgressLine {
  public:
    // Writes nothing unless `file` is a terminal.
    explicit ProgressLine(std::FILE* file);

    bool on_terminal() const { return on_terminal_; }
    void show(std::string_view text);
    // Before anything else is printed.
    void clear();

  private:
    std::FILE* file_;
    bool on_terminal_;
};

// The first of its characters, fewer than `columns`: in the last column a terminal may wrap. 0
// columns: unknown, and all is kept.
std::string_view cut_to(std::string_view text, std::size_t columns);

}  // namespace tiderace::load

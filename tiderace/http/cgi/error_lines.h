// ErrorLines: what a program writes on its standard error, as lines of the log.
//
// Control characters become '?'. A program that floods is cut short, and one line reports it.
//
// Owner    The call.
// Thread   The loop's.
// Errors   A line that finds no memory is lost; nothing throws.
// Limits   line_bytes_max of a line (the rest of it is dropped), lines_max of a call.
#pragma once

#include <cstddef>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/log/logger.h"

namespace tiderace::http::cgi {

class ErrorLines {
  public:
    static constexpr std::size_t line_bytes_max = 1000;
    static constexpr std::size_t lines_max = 50;

    // Both outlive this. No log: everything is dropped.
    ErrorLines(log::Logger* log, const std::string& program) : log_(log), program_(&program) {}

    void feed(ByteView bytes);
    // There is no more: the last line may lack its end.
    void end();

  private:
    void take(ByteView bytes);
    void write();

    log::Logger* log_;
    const std::string* program_;
    std::string line_;
    std::size_t lines_ = 0;
};

}  // namespace tiderace::http::cgi

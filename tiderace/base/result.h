// Result<T>: a value, or what the machine refused.
//
// For faults of the machine only (a full disk, a port in use). The peer's faults are enums, ours
// are checks. An Error names the operation and the object, so that its text alone helps:
//   bind 0.0.0.0:80: permission denied; ports below 1024 need CAP_NET_BIND_SERVICE or root
// Keywords: std::expected, error handling
#pragma once

#include <cerrno>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/language.h"

namespace tiderace {

class Error {
  public:
    // `code` is an errno value, 0 where the fault is not the system's. `object` is what the
    // operation was done on (an address, a path); `advice` what the reader can do, "" when there is
    // nothing.
    Error(int code, std::string_view operation, std::string_view object,
          std::string_view advice = {})
        : code_(code), operation_(operation), object_(object), advice_(advice) {}

    // What errno says now, for a call that just failed.
    static Error last(std::string_view operation, std::string_view object,
                      std::string_view advice = {}) {
        return Error(errno, operation, object, advice);
    }

    int code() const { return code_; }
    const std::string& operation() const { return operation_; }
    const std::string& object() const { return object_; }
    // One line whatever its object holds, lower case, no final stop.
    std::string message() const;

  private:
    int code_;
    std::string operation_;
    std::string object_;
    std::string advice_;
};

template <typename T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Error error) {
    return std::unexpected<Error>(std::move(error));
}

// A text that a peer or a user may have chosen, with its control characters as "\r", "\n", "\x1b":
// a message that quotes it stays one line, and changes no terminal.
std::string one_line(std::string text);

// The system's own words for an errno value, in lower case ("permission denied"). Thread-safe.
std::string describe_errno(int code);

}  // namespace tiderace

#include "tiderace/resp/fault.h"

#include <array>

namespace tiderace::resp {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Fault::count_)> texts{
    "no fault",
    "unknown type of value",
    "invalid length",
    "a line that does not end with CR LF",
    "invalid number",
    "invalid boolean",
    "invalid null",
    "invalid verbatim string",
    "a bulk string was expected",
    "unbalanced quotes in request",
    "HTTP, TLS or other bytes that are no command",
    "a bulk string that does not end with CR LF",
    "a push inside another value",
    "a streamed value",
    "too long a line",
    "too large a bulk string",
    "too many elements",
    "too many nested values",
    "too large a message",
};

}  // namespace

std::string_view to_string(Fault fault) {
    return texts[static_cast<std::size_t>(fault)];
}

}  // namespace tiderace::resp

// The faults that a RESP reader reports, and the bounds that it enforces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tiderace/base/units.h"

namespace tiderace::resp {

enum class Fault : std::uint8_t {
    none,
    unknown_type,       // the first byte of a value is not one of the protocol's
    bad_length,         // not a number, negative, or not ended by CR LF
    bad_line,           // a CR without LF, or an LF without CR
    bad_number,         // an integer, double or big number that is none
    bad_boolean,        // neither #t nor #f
    bad_null,           // _ with something behind it
    bad_verbatim,       // shorter than "txt:", or without the colon
    bulk_expected,      // an argument of a command that is not a bulk string
    unbalanced_quotes,  // in an inline command
    foreign_protocol,   // HTTP, TLS or other bytes that no person types as an inline command
    unended_bulk,       // no CR LF behind the bytes of a bulk string
    nested_push,        // a push inside another value
    streamed,           // a string or aggregate of unknown length ("$?"), which no server sends
    line_too_long,      // over line_bytes_max
    bulk_too_large,     // over bulk_bytes_max
    too_many_elements,  // over elements_max
    too_deep,           // over depth_max
    message_too_large,  // over message_bytes_max
    count_              // how many faults there are
};
// A sentence for a log line or an error answer.
std::string_view to_string(Fault fault);

// Bounds of one message: a command or a reply.
struct Limits {
    std::size_t bulk_bytes_max = 512_MiB;
    std::size_t elements_max = 1'048'576;   // arguments; or values at all depths, map keys included
    std::size_t depth_max = 16;             // aggregates inside each other, attributes included
    std::size_t line_bytes_max = 64_KiB;    // simple strings and errors, numbers, inline commands
    std::size_t message_bytes_max = 1_GiB;  // below 4 GiB
};

// The result of giving bytes to a reader.
enum class Progress : std::uint8_t {
    complete,  // one message; its views are valid until the next read()
    more,      // all bytes were used, and the message needs more
    fault,     // the peer breaks the protocol; the reader stays in this state
};

}  // namespace tiderace::resp

// Internal. H2Priority: how urgent an answer is, from the Priority field or a PRIORITY_UPDATE frame
// (RFC 9218, section 4; a dictionary of RFC 9651).
//
// Thread   Any: pure functions.
// Errors   None: an invalid dictionary is ignored as a whole, and members that are unknown, or of
//          the wrong type or range, are ignored, as RFC 9218 requires.
// Memory   None.
// Keywords: Priority, urgency, incremental, RFC 9218
#pragma once

#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

struct H2Priority {
    static constexpr std::uint8_t least_urgent = 7;

    std::uint8_t urgency = 3;  // 0, the most urgent, to 7
    bool incremental = false;  // of use before it is complete: shares the line with its equals

    bool operator==(const H2Priority&) const = default;
};

// What is not said keeps its default.
H2Priority parse_h2_priority(ByteView value);

}  // namespace tiderace::http::wire

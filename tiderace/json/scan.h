// What simdjson does not say about a JSON text: it reports that a text is not JSON, and values, but
// not where they are; these functions read the text again, and only after a fault was found.
//
// Thread   Any; pure functions.
// Memory   The stack: depth_max frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tiderace/base/bytes.h"

namespace tiderace::json {

struct SyntaxFault {
    std::size_t offset;  // of the first byte that is wrong; the text's size where it ends too early
    const char* problem;  // "expected a value"
    bool too_deep = false;
};

// The first fault of a text: nothing, exactly if it is JSON (RFC 8259) whose strings are UTF-8 and
// have their surrogates in pairs, of at most `depth_max` levels.
std::optional<SyntaxFault> first_fault(ByteView text, std::size_t depth_max);

// Where a value stands in a text that has no fault. `ordinals` lead to it from the outside:
// the numbers of members in their objects and of elements in their arrays.
std::size_t offset_of(ByteView text, std::span<const std::size_t> ordinals);

// True when a string of the text may have \uD800 to \uDFFF in it.
bool may_have_surrogates(ByteView text);

// simdjson takes digits alone for an integer and refuses those beyond 64 bits; with ".0" after them
// they are numbers, which members of floating point take. Integers that fit stay as they are,
// because members of integers take them. `text` is JSON.
std::string with_large_integers_as_numbers(ByteView text);

}  // namespace tiderace::json

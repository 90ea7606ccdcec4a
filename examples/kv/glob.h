// Patterns of KEYS, SCAN and PSUBSCRIBE: ? * [a-z] [^x], and \ before a character that is itself.
#pragma once

#include "tiderace/base/bytes.h"

namespace kv {

// The work is at most the product of the two lengths.
bool glob_matches(tiderace::ByteView pattern, tiderace::ByteView text);

}  // namespace kv

// Patterns of KEYS, SCAN and PSUBSCRIBE: ? * [a-z] [^x] and a backslash before what is meant as it is.
#pragma once

#include "tiderace/base/bytes.h"

namespace kv {

// The work is at most the product of the two lengths.
bool glob_matches(tiderace::ByteView pattern, tiderace::ByteView text);

}  // namespace kv

// Comparison of secrets: a caller cannot learn from its time how much of a guess was right.
//
// Thread   Any; a pure function.
// Keywords: timing attack, password comparison
#pragma once

#include "tiderace/base/bytes.h"

namespace tiderace {

// Takes as long for equal texts as for different ones of the same length as `given`.
bool equals_in_constant_time(ByteView expected, ByteView given);

}  // namespace tiderace

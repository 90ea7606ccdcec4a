// Internal. thread_cell(): a small number for each thread that counts, so that each writes memory
// of its own. A thread that ends leaves its number to a new one.
//
// Thread   Any.
// Limits   threads_max; all threads above it have that number.
#pragma once

#include "tiderace/base/language.h"

namespace tiderace::metrics {

inline constexpr unsigned threads_max = 64;

inline constexpr unsigned no_cell = ~0U;
// One in the process for each thread, because a counter does not know the threads.
inline thread_local unsigned own_cell = no_cell;
unsigned take_cell();

// 0 .. threads_max
inline unsigned thread_cell() {
    return own_cell != no_cell ? own_cell : take_cell();
}

}  // namespace tiderace::metrics

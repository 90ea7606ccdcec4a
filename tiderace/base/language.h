// The language level that all headers need. They include this before they use it.
#pragma once

#if __cplusplus <= 202002L  // the C++23 of g++ 12 has a number between this and clang's
#error Tiderace needs C++23: compile with -std=c++23 (CMake: link tiderace::app or another target)
// Ends the compilation, so that no further errors hide this sentence.
#include <needs C++23>
#endif

// Internal. The names of types and functions as a person wrote them, for the log.
//
// Thread   Any.
// Errors   Without memory, or for a name that is none of C++: as it is.
#pragma once

#include <string>

#include "tiderace/base/language.h"

namespace tiderace::log {

// "_ZN4shop4sellEv" -> "shop::sell()".
std::string demangled(const char* name);
// Inside a catch: of the exception that was caught: "std::out_of_range".
std::string current_exception_type();

}  // namespace tiderace::log

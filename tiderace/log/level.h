// Internal. Level: how much a record matters, and the floor below which calls are not even
// compiled.
#pragma once

#include <cstdint>
#include <string_view>

#include "tiderace/base/language.h"

// The CMake cache variable of the same name sets it for the whole program.
#if !defined(TIDERACE_LOG_FLOOR)
#define TIDERACE_LOG_FLOOR trace
#endif

namespace tiderace::log {

enum class Level : std::uint8_t { trace, debug, info, warning, error, off };

inline constexpr Level compiled_floor = Level::TIDERACE_LOG_FLOOR;

// "trace", "debug", "info", "warning", "error", "off".
std::string_view to_string(Level level);

}  // namespace tiderace::log

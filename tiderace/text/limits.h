// Internal. Limits of templates, and of what rendering one may cost.
#pragma once

#include <cstddef>

#include "tiderace/base/units.h"

namespace tiderace::text {

struct Limits {
    std::size_t source_bytes_max = 1_MiB;    // of one template's text
    std::size_t nesting_max = 32;            // {% if %}, {% for %}, blocks and () in each other
    std::size_t include_depth_max = 16;      // includes in includes, layouts of layouts
    std::size_t nodes_max = 100'000;         // parts of one template, with all that it includes
    std::size_t output_bytes_max = 16_MiB;   // of one rendering
    std::size_t iterations_max = 1'000'000;  // of all loops of one rendering
};

inline constexpr std::size_t loop_depth_max = 16;  // loops in each other, includes counted
inline constexpr std::size_t filters_max = 16;     // in one statement

}  // namespace tiderace::text

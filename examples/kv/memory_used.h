// How much memory the program has allocated: memory_used.cc replaces operator new, and counts. In
// builds with a sanitizer, what the sanitizer counts.
#pragma once

#include <cstddef>

namespace kv {

std::size_t memory_used();

}  // namespace kv

// name_this_thread: what top, ps and debuggers call the calling thread.
//
// Errors   None: a name that is too long is cut (Linux takes 15 bytes), a system without names has
//          none.
#pragma once

#include <string_view>

namespace tiderace {

inline constexpr std::size_t thread_name_bytes_max = 15;

void name_this_thread(std::string_view name);

}  // namespace tiderace

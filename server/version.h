// The version of this program and how it was built: `tiderace version -v`.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace tiderace::server {

// The values of --engine: how one loop may ask the kernel on this system. "auto" is the fastest of
// them.
#if defined(__linux__)
inline constexpr std::array<std::string_view, 5> engine_choices{"auto", "epoll", "io_uring", "poll",
                                                                "select"};
#else
inline constexpr std::array<std::string_view, 4> engine_choices{"auto", "kqueue", "poll", "select"};
#endif

// "Linux" or "BSD and macOS", for an engine that this system lacks.
std::string_view systems_of_engine(std::string_view engine);

// "0.1.0", the version of the CMake project.
std::string_view version();
// "tiderace 0.1.0\n"
std::string version_line();
// "0.1.0 (3b59770)", and "g++ 12.2.0, Release".
std::string version_and_commit();
std::string build_text();
// The line, then commit, compiler, build type, engines and features, a line each.
std::string version_details();

}  // namespace tiderace::server

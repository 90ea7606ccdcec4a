set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(TIDERACE_ZIG_TARGET aarch64-macos)
include(${CMAKE_CURRENT_LIST_DIR}/toolchain-zig.cmake)

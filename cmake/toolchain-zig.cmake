# Cross-builds with the compiler of PyPI's ziglang, which carries the headers, the libc stubs and the libc++
# of its targets. toolchain-macos.cmake and toolchain-freebsd.cmake set the target and include this.
#
#   ./dev test all cross                                         installs it in build/venv-cross
#   cmake --preset cross-macos -DTIDERACE_ZIG=/path/of/zig      another one
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TIDERACE_ZIG)
if(NOT TIDERACE_ZIG)
  file(GLOB TIDERACE_ZIG
       ${CMAKE_CURRENT_LIST_DIR}/../build/venv-cross/lib/python*/site-packages/ziglang/zig)
endif()
if(NOT EXISTS "${TIDERACE_ZIG}")
  message(FATAL_ERROR "no zig: `./dev test all cross` installs it, or say -DTIDERACE_ZIG=/path/of/zig")
endif()

set(CMAKE_C_COMPILER ${TIDERACE_ZIG} cc -target ${TIDERACE_ZIG_TARGET})
set(CMAKE_CXX_COMPILER ${TIDERACE_ZIG} c++ -target ${TIDERACE_ZIG_TARGET})

# Found out by CMake these would be the same, after a link that first builds libc++: minutes.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
execute_process(COMMAND ${TIDERACE_ZIG} c++ --version OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "clang version ([0-9.]+)" said "${said}")
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
  set(CMAKE_${language}_COMPILER_ID Clang)
  set(CMAKE_${language}_COMPILER_VERSION ${CMAKE_MATCH_1})
  set(CMAKE_${language}_COMPILER_FRONTEND_VARIANT GNU)
  set(CMAKE_${language}_STANDARD_COMPUTED_DEFAULT 17)
  set(CMAKE_${language}_EXTENSIONS_COMPUTED_DEFAULT ON)
endforeach()

foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "\"${TIDERACE_ZIG}\" ar qcs <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "\"${TIDERACE_ZIG}\" ar qs <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "")
endforeach()
set(CMAKE_AR ${TIDERACE_ZIG})
set(CMAKE_RANLIB ${TIDERACE_ZIG})
set(CMAKE_INSTALL_NAME_TOOL ${TIDERACE_ZIG})  # asked for, never run: nothing is installed

# zig checks for undefined behaviour unless told not to, which is for programs that are run.
set(CMAKE_CXX_FLAGS_INIT "-fno-sanitize=all")
# It builds libc++ for the first link, as that says: small saves a third to a half of the time.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Os -s")

# Nothing of the build machine fits the target.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_BINARY_DIR}/nothing)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_BINARY_DIR}/nothing)

# One place for the language level, the warnings, the linker and the sanitizers.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "tiderace needs g++ 12 or newer (found ${CMAKE_CXX_COMPILER_VERSION})")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR "tiderace needs clang 19 or newer (found ${CMAKE_CXX_COMPILER_VERSION}):"
                      " older ones hide std::expected")
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  message(WARNING "tiderace: no CMAKE_BUILD_TYPE is set, which would compile without optimisation; "
                  "RelWithDebInfo is used")
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "how everything is compiled" FORCE)
endif()

# What links a room has these too, so a project around this one gets what it needs, not our taste.
add_library(tiderace_flags INTERFACE)
set_target_properties(tiderace_flags PROPERTIES EXPORT_NAME flags)
target_compile_features(tiderace_flags INTERFACE cxx_std_23)
target_include_directories(tiderace_flags INTERFACE
                           "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR};${PROJECT_BINARY_DIR}/generated>")
# Options of this build, which an installed library does not pass on.
function(tiderace_compile_options)
  target_compile_options(tiderace_flags INTERFACE "$<BUILD_INTERFACE:${ARGN}>")
endfunction()
function(tiderace_link_options)
  target_link_options(tiderace_flags INTERFACE "$<BUILD_INTERFACE:${ARGN}>")
endfunction()
if(PROJECT_IS_TOP_LEVEL)
  tiderace_compile_options(-Wall -Wextra -Wnon-virtual-dtor -Wno-missing-field-initializers)
  # __FILE__ names files from here on: a program says nothing of where it was built, and ccache finds
  # in one checkout what was compiled in another.
  tiderace_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  # What g++ 12 reports of optimised code is not there: it takes the two ends of std::string's copy
  # for overlapping, and the frames of coroutines over private types for two types of one name. The
  # debug builds, and clang in every build, keep these warnings.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13
     AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(tiderace_false_alarms -Wno-array-bounds -Wno-dangling-pointer -Wno-maybe-uninitialized
                              -Wno-odr -Wno-restrict -Wno-stringop-overflow
                              -Wno-stringop-overread -Wno-subobject-linkage)
    tiderace_compile_options(${tiderace_false_alarms})
    tiderace_link_options(${tiderace_false_alarms})
  endif()
  # One that is compiled with others would be blamed for their private names.
  if(NOT CMAKE_UNITY_BUILD)
    tiderace_compile_options(-Wshadow)
  endif()
endif()
if(TIDERACE_SANITIZE)
  # For tests: each step takes times longer, and operator new is the sanitizer's.
  target_compile_definitions(tiderace_flags INTERFACE TIDERACE_SANITIZED)
  target_compile_options(tiderace_flags INTERFACE -fsanitize=${TIDERACE_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tiderace_flags INTERFACE -fsanitize=${TIDERACE_SANITIZE})
endif()
if(PROJECT_IS_TOP_LEVEL AND CMAKE_BUILD_TYPE STREQUAL "Release")
  tiderace_compile_options(-fno-plt -fstack-protector-strong -D_FORTIFY_SOURCE=2)
  # g++ clears an object of 64 bytes and more by "rep stos", which needs 9 ns to begin; the stores
  # themselves need 2. Each request clears several.
  include(CheckCXXCompilerFlag)
  set(stores -mmemset-strategy=vector_loop:256:noalign,libcall:-1:noalign)
  check_cxx_compiler_flag(${stores} TIDERACE_CLEARS_BY_STORES)
  if(TIDERACE_CLEARS_BY_STORES)
    tiderace_compile_options(${stores})
    tiderace_link_options(${stores})
  endif()
endif()

# Each function has a section, so that the linker leaves out what a program does not call: of a hello
# two thirds of the library. Whoever links a room gets the linker's option, installed or not.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_options(-ffunction-sections -fdata-sections)
endif()
set(TIDERACE_LEAVE_OUT "$<IF:$<PLATFORM_ID:Darwin>,-Wl$<COMMA>-dead_strip,-Wl$<COMMA>--gc-sections>")
target_link_options(tiderace_flags INTERFACE ${TIDERACE_LEAVE_OUT})

# Link-time optimisation takes some ten seconds of processor for each program. Small programs that
# nobody measures do without: the rooms' objects hold machine code as well, and those link it. Call
# it in a folder before its programs are added.
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  tiderace_compile_options(-ffat-lto-objects)
endif()
macro(tiderace_link_without_optimisation)
  if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)
    add_link_options(-fno-lto)
  endif()
endmacro()

find_program(TIDERACE_MOLD mold)
if(PROJECT_IS_TOP_LEVEL AND TIDERACE_MOLD AND CMAKE_BUILD_TYPE STREQUAL "Debug"
   AND NOT CMAKE_CROSSCOMPILING)
  # --no-fork: otherwise a child still holds the program open for writing when the link has ended, and
  # starting it fails with "text file busy".
  tiderace_link_options(-fuse-ld=mold -Wl,--no-fork)
endif()

find_package(Threads REQUIRED)

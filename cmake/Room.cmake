# A room of the house: one folder, one namespace, one static library.
#
#   tiderace_room(NAME core  SOURCES a.cc b.cc  TESTS a_test.cc  USES log base  TEST_USES testing)
#
# makes the library `tiderace_core` (alias tiderace::core) and, with TIDERACE_TESTS, the test program
# `core_test` out of all of the room's tests. A nested room writes its name with underscores:
# http/wire is `http_wire`. APART: those of the sources and tests that use the same private names as
# others of their room; CMAKE_UNITY_BUILD leaves them alone. INSTALLED: headers that a user's program
# includes, itself or through others (decision 27 says which are public). INTERNAL: no alias, for a
# room whose name a public target has.
set_property(GLOBAL PROPERTY TIDERACE_TEST_ROOMS "")
set_property(GLOBAL PROPERTY TIDERACE_INSTALLED_ROOMS "")  # Install.cmake installs them
set(TIDERACE_ROOMS_OF_LOOPS core net tls http http_h1 http_h2 http_websocket)

# Rooms that work once a start, a connection or a child process. More optimisation would cost a third of their compile
# time and gain nothing; what is built with link-time optimisation, to be installed, stays as it is.
set(TIDERACE_ROOMS_THAT_START metrics tls http_listing http_cgi serve_http server)

# A room that calls a later one (App::serve) leaves that open until a program links both.
set(TIDERACE_LIBRARY_TYPE STATIC)
if(BUILD_SHARED_LIBS)
  set(TIDERACE_LIBRARY_TYPE SHARED)
endif()

set(TIDERACE_ROOM_OPTIONS "" CACHE STRING "compiler options of the rooms, and not of their tests")
# A room reports to a fuzz driver what it covers, or that would search blindly.
if(TIDERACE_FUZZ)
  list(APPEND TIDERACE_ROOM_OPTIONS -fsanitize=fuzzer-no-link)
endif()

# Half of a build's time went into the standard library's headers. `./dev check` is without this.
option(TIDERACE_PRECOMPILED_HEADERS "compile the standard library's headers once" ON)
if(TIDERACE_PRECOMPILED_HEADERS)
  add_library(tiderace_std_pch STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/std_pch.cc)
  target_compile_options(tiderace_std_pch PRIVATE ${TIDERACE_ROOM_OPTIONS})
  # Programs are compiled with other options than libraries.
  add_executable(tiderace_program_pch EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/program_pch.cc)
  foreach(target tiderace_std_pch tiderace_program_pch)
    target_link_libraries(${target} PRIVATE tiderace_flags)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <charconv> <chrono> <cstring> <deque> <expected> <functional> <memory>
      <mutex> <optional> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
  endforeach()
endif()

# The headers of GoogleTest, for the test programs.
if(TIDERACE_TESTS)
  find_package(GTest REQUIRED)
  # Under a sanitizer only what is tested has to be fast: the tests compile in a third of the time.
  if(TIDERACE_SANITIZE)
    set(TIDERACE_TEST_OPTIONS -O0)
  endif()
  add_executable(tiderace_gtest_pch EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/gtest_pch.cc)
  target_link_libraries(tiderace_gtest_pch PRIVATE tiderace_flags GTest::gmock)
  target_compile_options(tiderace_gtest_pch PRIVATE ${TIDERACE_TEST_OPTIONS})
  target_precompile_headers(tiderace_gtest_pch PRIVATE <gmock/gmock.h> <gtest/gtest.h>
                             <chrono> <expected> <functional> <span> <string> <unordered_map> <vector>)
endif()

# Compiling sixteen files as one takes a fifth of the time, and is what the presets do. A room's own
# files are compiled thirty-two at a time, because all of them need the same headers. `./dev check`
# does neither: there each file has to include what it uses.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # An eighth of a debug build went into collecting the compiler's garbage; now it begins at 512 MiB.
  tiderace_compile_options(--param=ggc-min-heapsize=524288)
  # g++ takes a source that is included for a header, and warns of its nameless namespace and lambdas.
  tiderace_compile_options(-Wno-subobject-linkage)
endif()

function(tiderace_room)
  cmake_parse_arguments(ARG "INTERNAL" "NAME" "INSTALLED;SOURCES;TESTS;USES;TEST_USES;LIBRARIES;APART" ${ARGN})
  if(ARG_APART)  # the tests' programs are made in the project's folder
    list(TRANSFORM ARG_APART PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_source_files_properties(${ARG_APART} DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}
                                PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  set(library tiderace_${ARG_NAME})
  if(ARG_SOURCES)
    add_library(${library} ${TIDERACE_LIBRARY_TYPE} ${ARG_SOURCES})
    # Compiled with the same macros as a static one, so that they share the precompiled headers.
    set_target_properties(${library} PROPERTIES DEFINE_SYMBOL "" VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                          UNITY_BUILD_BATCH_SIZE 32)
    target_compile_options(${library} PRIVATE ${TIDERACE_ROOM_OPTIONS})
    if(NOT PROJECT_IS_TOP_LEVEL)
      target_compile_options(${library} PRIVATE -w)
    elseif(ARG_NAME IN_LIST TIDERACE_ROOMS_THAT_START AND NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION)
      target_compile_options(${library} PRIVATE $<$<CONFIG:Release>:-Og>)
    endif()
    set(scope PUBLIC)
    if(TIDERACE_PRECOMPILED_HEADERS)
      target_precompile_headers(${library} REUSE_FROM tiderace_std_pch)
    endif()
  else()
    add_library(${library} INTERFACE)
    set(scope INTERFACE)
  endif()
  if(ARG_INTERNAL)
    set_target_properties(${library} PROPERTIES EXPORT_NAME internal_${ARG_NAME})
  else()
    set_target_properties(${library} PROPERTIES EXPORT_NAME ${ARG_NAME})
    add_library(tiderace::${ARG_NAME} ALIAS ${library})
  endif()
  if(ARG_INSTALLED)
    set_property(GLOBAL APPEND PROPERTY TIDERACE_INSTALLED_ROOMS ${library})
    target_sources(${library} ${scope} FILE_SET installed TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                   FILES ${ARG_INSTALLED})
  endif()
  # Calls on the wrong thread do not compile here (tiderace/base/thread_role.h). A room joins when its
  # functions are marked.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND ARG_NAME IN_LIST TIDERACE_ROOMS_OF_LOOPS)
    target_compile_options(${library} PRIVATE -Wthread-safety -Werror=thread-safety)
  endif()
  list(TRANSFORM ARG_USES PREPEND tiderace_)
  target_link_libraries(${library} ${scope} tiderace_flags ${ARG_USES} ${ARG_LIBRARIES})
  if(TIDERACE_TESTS AND ARG_TESTS)
    list(TRANSFORM ARG_TESTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE tests)
    set_property(GLOBAL APPEND PROPERTY TIDERACE_TEST_ROOMS ${ARG_NAME})
    set_property(GLOBAL PROPERTY TIDERACE_TESTS_${ARG_NAME} ${tests})
    set_property(GLOBAL PROPERTY TIDERACE_TEST_USES_${ARG_NAME} ${ARG_TEST_USES})
  endif()
endfunction()

# The example at the top of an umbrella header, from its first #include to the end.
function(tiderace_read_example header result)
  file(READ ${header} text)
  string(REGEX MATCH "\n//     #include.*\n//     }\n//\n" example "${text}")
  if(example STREQUAL "")
    message(FATAL_ERROR "${header} has no example: lines of \"//     \" from an #include to a \"}\"")
  endif()
  string(REPLACE "\n//     " "\n" example "${example}")
  string(REPLACE "\n//\n" "\n\n" example "${example}")
  string(REPLACE "\n//\n" "\n\n" example "${example}")
  set(${result} "${example}" PARENT_SCOPE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
endfunction()

# … as a header for a test that runs it: generated/NAME.h.
function(tiderace_header_example)
  if(NOT TIDERACE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "HEADER;NAME" "" ${ARGN})
  cmake_path(ABSOLUTE_PATH ARG_HEADER BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  tiderace_read_example(${ARG_HEADER} example)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${ARG_NAME}.h
       CONTENT "#pragma once\n${example}" @ONLY)
endfunction()

# All C++ blocks of a document, one after the other, as a header for a test that runs them:
# generated/NAME.h.
function(tiderace_document_example)
  if(NOT TIDERACE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "DOCUMENT;NAME" "" ${ARGN})
  file(READ ${ARG_DOCUMENT} rest)
  set(code "#pragma once\n")
  string(FIND "${rest}" "```cpp\n" begin)
  while(NOT begin EQUAL -1)
    math(EXPR begin "${begin} + 7")
    string(SUBSTRING "${rest}" ${begin} -1 rest)
    string(FIND "${rest}" "```" end)
    string(SUBSTRING "${rest}" 0 ${end} block)
    string(APPEND code "${block}")
    math(EXPR end "${end} + 3")
    string(SUBSTRING "${rest}" ${end} -1 rest)
    string(FIND "${rest}" "```cpp\n" begin)
  endwhile()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${ARG_NAME}.h CONTENT "${code}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARG_DOCUMENT})
endfunction()

# The test program NAME_test, which ctest runs as NAME.
function(tiderace_test_program)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${ARG_NAME}_test ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME}_test PRIVATE ${ARG_LIBRARIES} tiderace_flags GTest::gmock GTest::gtest_main)
  target_compile_options(${ARG_NAME}_test PRIVATE ${TIDERACE_TEST_OPTIONS})
  target_precompile_headers(${ARG_NAME}_test REUSE_FROM tiderace_gtest_pch)
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME}_test)
endfunction()

# Called last, when every room is known, so that a room's tests may use rooms declared after it.
function(tiderace_finish_tests)
  if(NOT TIDERACE_TESTS)
    return()
  endif()
  get_property(rooms GLOBAL PROPERTY TIDERACE_TEST_ROOMS)
  foreach(room ${rooms})
    get_property(tests GLOBAL PROPERTY TIDERACE_TESTS_${room})
    get_property(uses GLOBAL PROPERTY TIDERACE_TEST_USES_${room})
    list(TRANSFORM uses PREPEND tiderace_)
    tiderace_test_program(NAME ${room} SOURCES ${tests} LIBRARIES tiderace_${room} ${uses})
  endforeach()
endfunction()

# Called at the end of a folder of programs: they and their libraries use the precompiled headers of
# the rooms.
function(tiderace_precompile_folder)
  if(NOT TIDERACE_PRECOMPILED_HEADERS)
    return()
  endif()
  set(folders ${CMAKE_CURRENT_SOURCE_DIR})
  while(folders)
    list(POP_FRONT folders folder)
    get_property(inner DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    list(APPEND folders ${inner})
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target ${targets})
      get_target_property(type ${target} TYPE)
      get_target_property(reused ${target} PRECOMPILE_HEADERS_REUSE_FROM)
      get_target_property(own ${target} PRECOMPILE_HEADERS)
      if(NOT type MATCHES "EXECUTABLE|STATIC_LIBRARY" OR reused OR own)
        continue()
      elseif(type STREQUAL "EXECUTABLE")
        target_precompile_headers(${target} REUSE_FROM tiderace_program_pch)
      else()
        target_compile_options(${target} PRIVATE ${TIDERACE_ROOM_OPTIONS})
        target_precompile_headers(${target} REUSE_FROM tiderace_std_pch)
      endif()
    endforeach()
  endwhile()
endfunction()

# Links what `rooms_WORD` lists, for the first word of the target's name. Without one of these rooms,
# which a library that is not there may cause, the target is not built.
function(tiderace_link_rooms target)
  string(REGEX MATCH "^[a-z0-9]+" word ${target})
  foreach(room ${rooms_${word}})
    if(TARGET tiderace_${room})
      target_link_libraries(${target} PRIVATE tiderace_${room})
    else()
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endforeach()
endfunction()

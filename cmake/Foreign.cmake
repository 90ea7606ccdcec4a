# Libraries of others that only the lab links, where they are installed: TIDERACE_LIBEVENT and
# TIDERACE_ASIO say whether they were found.
find_package(PkgConfig)
if(PkgConfig_FOUND)
  pkg_check_modules(LIBEVENT IMPORTED_TARGET libevent>=2.1)
endif()
set(TIDERACE_LIBEVENT ${LIBEVENT_FOUND})

# Standalone Asio: headers alone. Its own find of Boost is left out.
find_path(ASIO_INCLUDE asio.hpp)
find_package(Threads REQUIRED)
set(TIDERACE_ASIO FALSE)
if(ASIO_INCLUDE)
  set(TIDERACE_ASIO TRUE)
  add_library(tiderace_asio INTERFACE)
  target_include_directories(tiderace_asio SYSTEM INTERFACE ${ASIO_INCLUDE})
  target_compile_definitions(tiderace_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)
  target_link_libraries(tiderace_asio INTERFACE Threads::Threads)
endif()
foreach(library LIBEVENT ASIO)
  if(NOT TIDERACE_${library})
    message(STATUS "${library} is not installed: the lab goes without it")
  endif()
endforeach()

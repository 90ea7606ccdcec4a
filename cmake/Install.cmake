# What `cmake --install` makes of the library: archives, headers, and the files by which CMake and
# pkg-config find them again. The programs are the install component "programs", this is "library".
option(TIDERACE_INSTALL "install the library with `cmake --install`" ${PROJECT_IS_TOP_LEVEL})
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME programs)

# A library of the system that pkg-config knows: NAME_FOUND, and the target PkgConfig::NAME. An installed
# Tiderace finds it again as it was found here.
find_package(PkgConfig)
macro(tiderace_find_library name module)
  if(PkgConfig_FOUND)
    pkg_check_modules(${name} ${ARGN} IMPORTED_TARGET ${module})
    set_property(GLOBAL PROPERTY TIDERACE_MODULE_${name} "${module}")
  endif()
endmacro()

# tiderace::NAME, for a target that is no room: several rooms under one name.
function(tiderace_export target name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY TIDERACE_INSTALLED_ROOMS ${target})
  add_library(tiderace::${name} ALIAS ${target})
endfunction()

# Rooms with installed headers, and all that these link: `ours` of Tiderace, `foreign` of the system.
function(tiderace_linked targets ours foreign)
  set(seen "")
  while(targets)
    list(POP_FRONT targets target)
    if(NOT target IN_LIST seen)
      list(APPEND seen ${target})
      if(target MATCHES "^tiderace_")
        get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
        if(links)
          list(APPEND targets ${links})
        endif()
      endif()
    endif()
  endwhile()
  set(others ${seen})
  list(FILTER seen INCLUDE REGEX "^tiderace_")
  list(FILTER others EXCLUDE REGEX "^tiderace_")
  set(${ours} ${seen} PARENT_SCOPE)
  set(${foreign} ${others} PARENT_SCOPE)
endfunction()

# tiderace-NAME.pc of a target: its archive, and the modules that this one links.
function(tiderace_pkgconfig_file target)
  get_target_property(name ${target} EXPORT_NAME)
  get_target_property(type ${target} TYPE)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  get_target_property(definitions ${target} INTERFACE_COMPILE_DEFINITIONS)
  set(requires "")
  set(libraries "")
  set(flags "")
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    set(libraries "-L\${prefix}/${CMAKE_INSTALL_LIBDIR} -l${target}")
  endif()
  foreach(link ${links})
    if(link MATCHES "^tiderace_")
      get_target_property(other ${link} EXPORT_NAME)
      list(APPEND requires tiderace-${other})
    elseif(link MATCHES "^PkgConfig::(.*)")
      get_property(module GLOBAL PROPERTY TIDERACE_MODULE_${CMAKE_MATCH_1})
      string(REPLACE ">=" " >= " module "${module}")
      list(APPEND requires "${module}")
    elseif(link MATCHES "^Threads::")
      string(APPEND libraries " -pthread")
    elseif(link)
      string(REGEX REPLACE "::.*" "" module ${link})
      string(TOLOWER ${module} module)
      list(APPEND requires ${module})  # openssl, simdjson, zlib
    endif()
  endforeach()
  list(REMOVE_ITEM requires tiderace-flags)
  list(REMOVE_DUPLICATES requires)
  list(JOIN requires ", " requires)
  foreach(definition ${definitions})
    if(definition)
      string(APPEND flags " -D${definition}")
    endif()
  endforeach()
  set(unused -Wl,--gc-sections)
  if(APPLE)
    set(unused -Wl,-dead_strip)
  endif()
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(file ${PROJECT_BINARY_DIR}/package/tiderace-${name}.pc)
  file(CONFIGURE OUTPUT ${file} CONTENT "prefix=\${pcfiledir}/${up}

Name: tiderace-${name}
Description: Tiderace, a network library in C++23: its target tiderace::${name}
Version: ${PROJECT_VERSION}
Requires: ${requires}
Libs: ${libraries} ${unused}
Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}${flags}
" @ONLY)
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
endfunction()

# Called last, when every room is known.
function(tiderace_install)
  if(NOT TIDERACE_INSTALL)
    return()
  endif()
  include(GNUInstallDirs)
  include(CMakePackageConfigHelpers)
  get_property(rooms GLOBAL PROPERTY TIDERACE_INSTALLED_ROOMS)
  tiderace_linked("${rooms}" ours foreign)
  add_custom_target(tiderace_library)
  add_dependencies(tiderace_library ${ours})

  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tiderace)
  install(TARGETS ${ours} EXPORT tiderace
          ARCHIVE COMPONENT library
          LIBRARY COMPONENT library
          FILE_SET installed DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
  install(EXPORT tiderace NAMESPACE tiderace:: FILE tiderace-targets.cmake DESTINATION ${package}
          COMPONENT library)

  set(exported "")
  foreach(target ${ours})
    if(NOT target STREQUAL "tiderace_flags")
      tiderace_pkgconfig_file(${target})
    endif()
    get_target_property(name ${target} EXPORT_NAME)
    list(APPEND exported tiderace::${name})
  endforeach()
  list(JOIN exported "\n      " exported)
  # The machine code alone: with what link-time optimisation keeps beside it, each link of a user's would
  # optimise all of it again, and only the same compiler could.
  if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_STRIP)
    install(CODE "file(GLOB archives \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libtiderace_*.a\")
execute_process(COMMAND \"${CMAKE_STRIP}\" -p -R .gnu.lto_* -R .gnu.debuglto_* -N __gnu_lto_v1 \${archives}
                COMMAND_ERROR_IS_FATAL ANY)" COMPONENT library)
  endif()

  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)

  # What the config file finds again: PkgConfig::NAME is a module of pkg-config.
  set(modules "")
  foreach(library ${foreign})
    if(library MATCHES "^PkgConfig::(.*)")
      get_property(module GLOBAL PROPERTY TIDERACE_MODULE_${CMAKE_MATCH_1})
      string(APPEND modules "set(_${CMAKE_MATCH_1}_module \"${module}\")\n")
    elseif(NOT library MATCHES "^(OpenSSL|simdjson|Threads|ZLIB)::")
      message(FATAL_ERROR "cmake/tiderace-config.cmake.in does not find ${library} again")
    endif()
  endforeach()
  set(build ${PROJECT_BINARY_DIR}/package)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tiderace-config.cmake.in ${build}/tiderace-config.cmake @ONLY)
  # Before 1.0 any version may change the interface.
  write_basic_package_version_file(${build}/tiderace-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${build}/tiderace-config.cmake ${build}/tiderace-config-version.cmake
          DESTINATION ${package} COMPONENT library)
endfunction()

// `tiderace new DIR`: the files of a service on the library: App, page, test, CMake, container, and
// a unit of systemd.
//
//   tiderace new boats && cd boats
//   cmake --workflow --preset dev        configures, builds and tests
//   build/boats                          serves http://localhost:8080
//
// The folder and the program have the same name: a small letter, then small letters, digits, '-'
// and '_', and no target of CMake's own.
//
// Thread   Main only.
// Errors   One sentence: a name that cannot be, a folder that is not empty, a file that cannot be
//          written. Nothing that exists is changed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tiderace/base/result.h"

namespace tiderace::server {

// "" for a name that a project may have; otherwise why not.
std::string project_name_fault(std::string_view name);

// Returns the text that says what to do next.
Result<std::string> make_project(const std::string& folder);

inline constexpr std::size_t project_files = 11;

}  // namespace tiderace::server

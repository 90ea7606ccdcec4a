// The lab is a program of its own, `tiderace-lab`, beside this one: it links libraries that a
// program that serves must not depend on. `tiderace lab …` leads there.
//
// Thread   Main only, before any other.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tiderace/base/result.h"

namespace tiderace::server {

inline constexpr std::string_view lab_program_name = "tiderace-lab";

// Where the lab's program is, if it can be run: in `folder`.
Result<std::string> find_lab_program(const std::string& folder);

// Becomes the lab's program with these words. Returns, with the exit status, only where that fails.
int run_lab_program(std::span<const std::string> words);

}  // namespace tiderace::server

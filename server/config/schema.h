// The JSON Schema (draft 2020-12) of a configuration file, made of the table of its keys.
//
// Thread   Any.
// Keywords: taplo, editors, completion
#pragma once

#include <string>

namespace tiderace::server::config {

std::string schema();

}  // namespace tiderace::server::config

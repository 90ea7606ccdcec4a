// Values and keys as TOML has them. A string is one of JSON, too.
//
// Thread   Any: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tiderace::server::config {

// "\"a \\\" quote\"": in quotes, with what they need.
std::string string_text(std::string_view text);
// "[\"a\", \"b\"]"
std::string list_text(std::span<const std::string> texts);
// Bare, or a string.
std::string key_text(std::string_view name);

}  // namespace tiderace::server::config

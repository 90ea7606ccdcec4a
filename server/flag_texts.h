// The flags whose value has a form of its own: addresses, PATTERN=VALUE, NAME:VALUE. Used by the
// table in flags.cc only.
//
// Errors   Each says what it expects, with an example, when the value is not of that form.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "server/options.h"

namespace tiderace::server {

std::expected<void, std::string> set_listen(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_index(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_spa(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_compress(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_compress_cache(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_error_page(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_mime(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_cache_control(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_header(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_cors(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_basic_auth(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_access_log(ServeOptions& options, std::string_view value);
std::expected<void, std::string> set_user(ServeOptions& options, std::string_view value);

std::string get_listen(const ServeOptions& options);
std::string get_compress(const ServeOptions& options);
std::string get_index(const ServeOptions& options);
std::string get_access_log(const ServeOptions& options);
// For flags that have no default.
std::string get_nothing(const ServeOptions& options);

}  // namespace tiderace::server

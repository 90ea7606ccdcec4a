// Values of nginx, written as a configuration of tiderace has them.
//
// Thread   Any: pure functions.
// Errors   nullopt, or an empty list: there is no such value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tiderace::server::nginx {

// "1h30m" is "5400s", "250ms" stays.
std::optional<std::string> time_of(std::string_view text);
// "10m" is "10MiB".
std::optional<std::string> size_of(std::string_view text);
// "*:80" and "[::]:80" are ":80".
std::string address_of(std::string_view text);
// The Cache-Control value of `expires`.
std::optional<std::string> cache_control_of(std::string_view text);
// `\.(css|js)$` is "*.css" and "*.js".
std::vector<std::string> patterns_of(std::string_view regex);

// The path and target of `rewrite ^/old/(.*)$ /new/$1 permanent`: "/old" and "/new{rest}". A path
// without `(.*)` is that one alone: "=/old".
struct Moved {
    std::string path;  // "": all
    std::string target;
};
std::optional<Moved> moved_of(std::string_view regex, std::string_view target);

}  // namespace tiderace::server::nginx

// The layout of a configuration file: spaces, line ends, indents. `tiderace fmt` uses it.
//
//   listing=true#all   ->   listing = true  #all
//   route=[                 route = [
//   {path = "/a"},            { path = "/a" },
//
// Comments, strings and the order stay as they are; a comment behind a value stays in its column
// where that has room. Formatted twice, a text is as it was formatted once.
//
// Thread   Any: a pure function.
// Errors   None: what is no TOML has some layout, too.
// Keywords: fmt, pretty-print, indent
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tiderace::server::config {

struct Formatted {
    std::string text;
    std::vector<std::size_t> changed_lines;  // of the text as it was, from 1
};

Formatted format_toml(std::string_view text);

}  // namespace tiderace::server::config

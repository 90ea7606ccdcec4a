// Glob: does a path match a pattern such as "*.css", "/assets/**" or "img-?.png"?
//
//   *   any run of characters but '/'       **  any run, '/' too       ?  one character but '/'
//
//   "/g/**/b"   /g/x/y/b, and /g/b: between slashes "**" stands for whole segments, also for none
//
// A pattern without '/' is matched against the last segment; one with '/' against the whole path,
// which begins with '/' whether the pattern does or not.
//
// A route's pattern holds for all below what it matches, as its prefix does: a program behind
// "*.php" also answers "/a.php/info", and a route that denies it must not let that pass.
//
// Thread   Any; no state. Time is bounded by pattern length times path length.
#pragma once

#include <array>
#include <cstddef>

#include "tiderace/base/bytes.h"

namespace tiderace::http::route {

// What the stars of a pattern stand for, in their order.
inline constexpr std::size_t captures_max = 9;
struct Captures {
    std::array<ByteView, captures_max> texts = {};
    std::size_t count = 0;
};
std::size_t stars_of(ByteView pattern);  // "**" is one

bool matches_glob(ByteView pattern, ByteView path);
// Whether the path matches, or a front of it that ends before a '/'.
bool glob_holds(ByteView pattern, ByteView path, Captures* captures = nullptr);
// Whether the path of a rule in a configuration matches `at`: "=/a" is that path alone; a glob, and
// "/a", hold for all below, too.
bool holds_at(ByteView path, ByteView at);
// The whole of a text that has no segments: '*' and '?' stand for any character.
bool matches_text(ByteView pattern, ByteView text);
// False: a plain path, which stands for itself.
bool is_glob(ByteView pattern);

}  // namespace tiderace::http::route

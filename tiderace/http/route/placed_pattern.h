// Internal. RoutePattern, PlacedPattern: a pattern and where in the program's source it stands, for
// the sentence about two routes that conflict.
//
//   app.get<"/users/{id}">(show)                    RoutePattern: known to the compiler
//   app.route(Method::get, "/" + name, show)        PlacedPattern: made as the program runs
//
// Thread   Any.
// Memory   A name of file_bytes_max beside each constant pattern.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/http/route/pattern.h"

namespace tiderace::http::route {

struct Place {
    std::string_view file;  // without its folder; lives as long as the program
    unsigned line = 0;      // 0: unknown

    constexpr Place() = default;
    constexpr Place(std::string_view path, unsigned at)
        : file(path.substr(path.rfind('/') + 1)), line(at) {}
    constexpr explicit Place(std::source_location where) : Place(where.file_name(), where.line()) {}
};

// " (main.cc:12)"; "" where it is unknown.
std::string to_string(Place place);

// As a template argument, which cannot point at the name of a file.
template <std::size_t size>
struct RoutePattern {
    static constexpr std::size_t file_bytes_max = 32;

    PatternText<size> text;
    char file[file_bytes_max] = {};  // of a longer name: its end
    unsigned line = 0;

    consteval RoutePattern(const char (&literal)[size],  // NOLINT: made of a literal
                           std::source_location where = std::source_location::current())
        : RoutePattern(PatternText<size>(literal), where) {}
    consteval RoutePattern(const PatternText<size>& pattern,  // NOLINT: of a program's template
                           std::source_location where = std::source_location::current())
        : text(pattern), line(where.line()) {
        std::string_view name = Place(where).file;
        if (name.size() > file_bytes_max) name.remove_prefix(name.size() - file_bytes_max);
        std::ranges::copy(name, file);
    }

    constexpr std::string_view view() const { return text.view(); }
    constexpr Place place() const {
        const std::string_view all(file, file_bytes_max);
        return {all.substr(0, all.find('\0')), line};
    }
};

struct PlacedPattern {
    template <std::convertible_to<std::string> Text>
    PlacedPattern(Text&& made,  // NOLINT: any text is a pattern
                  std::source_location where = std::source_location::current())
        : text(std::forward<Text>(made)), place(where) {}
    PlacedPattern(std::string made, Place at) : text(std::move(made)), place(at) {}

    std::string text;
    Place place;
};

}  // namespace tiderace::http::route

// Internal. Pattern: which paths a route stands for.
//
//   /users                    this path alone
//   /users/{id}               one segment, never empty: "/users/7", not "/users/" nor "/users/7/x"
//   /files/{path...}          the rest, which may hold '/' and may be empty; at the end only
//
// A parameter is a whole segment. Literals are compared with the canonical path, which is decoded:
// write "/café", not "/caf%C3%A9".
//
// Thread   Any; pure and usable at compile time.
// Errors   PatternFault, whose sentence names what to write instead.
// Limits   parameters_max parameters, pattern_bytes_max bytes.
// Keywords: route, path parameters, wildcard
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tiderace/base/ascii.h"
#include "tiderace/base/bytes.h"

namespace tiderace::http::route {

inline constexpr std::size_t parameters_max = 16;
inline constexpr std::size_t pattern_bytes_max = 1024;

// Where in a path its parameters are, in the pattern's order. Offsets, because the path may move.
struct Parameters {
    struct Span {
        std::uint32_t begin, bytes;
    };
    std::array<Span, parameters_max> spans;  // the first `count`
    std::size_t count = 0;

    ByteView of(ByteView path, std::size_t i) const {
        return path.substr(spans[i].begin, spans[i].bytes);
    }
};

// A pattern as a template argument: app.get<"/users/{id}">.
template <std::size_t size>
struct PatternText {
    char text[size] = {};

    consteval PatternText(const char (&literal)[size]) {  // NOLINT: made of a literal
        for (std::size_t i = 0; i < size; ++i) text[i] = literal[i];
    }
    constexpr std::string_view view() const { return {text, size - 1}; }
};

enum class PatternFault : std::uint8_t {
    none,
    no_slash,          // does not begin with '/'
    brace_in_literal,  // a parameter that is not a whole segment, or a lone brace
    empty_name,        // "{}"
    bad_name,          // a character that no name has
    same_name,         // twice the same
    rest_not_last,     // something behind "{name...}"
    empty_segment,     // "//": no canonical path has it
    too_many,          // above parameters_max
    too_long,          // above pattern_bytes_max
};

constexpr std::string_view to_string(PatternFault fault) {
    switch (fault) {
        case PatternFault::none:
            return "";
        case PatternFault::no_slash:
            return "a pattern begins with '/'";
        case PatternFault::brace_in_literal:
            return "a parameter is a whole segment, as in \"/users/{id}\"";
        case PatternFault::empty_name:
            return "a parameter needs a name, as in \"{id}\"";
        case PatternFault::bad_name:
            return "a parameter's name has letters, digits and '_' only";
        case PatternFault::same_name:
            return "two parameters have the same name";
        case PatternFault::rest_not_last:
            return "\"{name...}\" takes the rest, so it comes last";
        case PatternFault::empty_segment:
            return "a path never has an empty segment: write one '/'";
        case PatternFault::too_many:
            return "a pattern has at most 16 parameters";
        case PatternFault::too_long:
            return "a pattern has at most 1024 bytes";
    }
    return "";
}

struct Segment {
    enum class Kind : std::uint8_t { literal, parameter, rest };
    Kind kind = Kind::literal;
    std::string_view text;  // the literal, or the parameter's name
};

// Walks over the segments of a pattern that has no fault.
class Segments {
  public:
    constexpr explicit Segments(std::string_view pattern) : left_(pattern) {}

    constexpr bool done() const { return left_.empty(); }
    constexpr Segment next() {
        left_.remove_prefix(1);  // '/'
        const std::size_t end = left_.find('/');
        std::string_view text = left_.substr(0, end);
        left_ = end == std::string_view::npos ? std::string_view{} : left_.substr(end);
        if (!text.starts_with('{')) return {Segment::Kind::literal, text};
        text = text.substr(1, text.size() - 2);
        if (!text.ends_with("...")) return {Segment::Kind::parameter, text};
        return {Segment::Kind::rest, text.substr(0, text.size() - 3)};
    }

  private:
    std::string_view left_;
};

constexpr PatternFault check_parameter(std::string_view inside, bool last) {
    if (inside.ends_with("...")) {
        if (!last) return PatternFault::rest_not_last;
        inside.remove_suffix(3);
    }
    if (inside.empty()) return PatternFault::empty_name;
    for (const char c : inside) {
        if (!is_letter_or_digit(c) && c != '_') return PatternFault::bad_name;
    }
    return PatternFault::none;
}

constexpr PatternFault check_segment(std::string_view text, bool last) {
    if (text.empty() && !last) return PatternFault::empty_segment;
    if (text.size() >= 2 && text.front() == '{' && text.back() == '}') {
        return check_parameter(text.substr(1, text.size() - 2), last);
    }
    return text.find_first_of("{}") == std::string_view::npos ? PatternFault::none
                                                              : PatternFault::brace_in_literal;
}

constexpr std::size_t count_parameters(std::string_view pattern) {
    std::size_t count = 0;
    for (const char c : pattern) count += c == '{' ? 1 : 0;
    return count;
}

constexpr PatternFault check_pattern(std::string_view pattern) {
    if (!pattern.starts_with('/')) return PatternFault::no_slash;
    if (pattern.size() > pattern_bytes_max) return PatternFault::too_long;
    for (std::string_view left = pattern; !left.empty();) {
        left.remove_prefix(1);
        const std::size_t end = left.find('/');
        const bool last = end == std::string_view::npos;
        const PatternFault fault = check_segment(left.substr(0, end), last);
        if (fault != PatternFault::none) return fault;
        left = last ? std::string_view{} : left.substr(end);
    }
    if (count_parameters(pattern) > parameters_max) return PatternFault::too_many;
    for (Segments outer(pattern); !outer.done();) {
        const Segment one = outer.next();
        if (one.kind == Segment::Kind::literal) continue;
        for (Segments inner = outer; !inner.done();) {
            const Segment other = inner.next();
            if (other.kind != Segment::Kind::literal && other.text == one.text) {
                return PatternFault::same_name;
            }
        }
    }
    return PatternFault::none;
}

// A template argument is copied first: with -fsanitize=undefined g++ 12 does not take the address
// of one for a constant.
template <std::size_t size>
consteval std::size_t count_parameters(PatternText<size> pattern) {
    return count_parameters(pattern.view());
}
template <std::size_t size>
consteval PatternFault check_pattern(PatternText<size> pattern) {
    return check_pattern(pattern.view());
}

}  // namespace tiderace::http::route

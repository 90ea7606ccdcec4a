// Regex: the paths that a regular expression describes, compiled.
//
//   compile_regex("^/user/([0-9]+)$")  ->  match("/user/17"): yes, and {1} is "17"
//
// The syntax is PCRE2's, over the bytes of a path: '.' is every byte, also a line's end, '$' is the
// end of the path alone, and a letter beyond ASCII is as many as UTF-8 makes of it. Without '^' and
// '$' the expression may match anywhere inside the path.
//
// The base class is apart from the library, so that a program links PCRE2 only where it compiles.
//
// Owner    The routes that share it.
// Thread   Constant; any, at once. What a match needs is the thread's, and made with its first.
// Errors   compile_regex(): a fault. A match that takes too long: Answer::gave_up, within a
//          millisecond or two.
// Limits   regex_bytes_max; steps_max of a match (the time), frame_bytes_max (its memory).
// Memory   Of a thread that matches: up to frame_bytes_max.
// Keywords: regular expression, pcre2
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/http/route/glob.h"

namespace tiderace::http::route {

class Regex {
  public:
    static constexpr std::size_t regex_bytes_max = 4'096;
    // 0.1 ms of machine code, 1.5 ms where the system allows none.
    static constexpr std::uint32_t steps_max = 100'000;
    static constexpr std::size_t frame_bytes_max = 2u << 20;

    enum class Answer : std::uint8_t { no, yes, gave_up };

    virtual ~Regex() = default;
    // A group in parentheses that took no part is an empty text.
    virtual Answer match(ByteView path, Captures* captures = nullptr) const noexcept = 0;
    // Of (?<name>…): its number, from 1. nullopt: there is none, or more than one.
    virtual std::optional<std::size_t> group(std::string_view name) const = 0;
    virtual std::size_t groups() const noexcept = 0;
};

struct RegexFault {
    std::string what;    // PCRE2's sentence
    std::size_t at = 0;  // the byte of the expression where it was found
};

// False: this build is without PCRE2, and nothing compiles.
bool has_regexes();
// "pcre2 10.42"; "" without it.
std::string regex_library_text();

std::expected<std::shared_ptr<const Regex>, RegexFault> compile_regex(std::string_view expression);

}  // namespace tiderace::http::route

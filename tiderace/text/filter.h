// Filters: {{ text | truncate: 80 | upper }}.
//
//   upper lower capitalize trim         letters of ASCII only
//   truncate: 80                        at most 80 characters, the last of which is then …
//   replace: "a", "b"                   every a
//   default: "none"                     where there is nothing, "" or no such name
//   length                              of a list or a map; characters of a text
//   first, last                         element of a list
//   join: ", "                          the elements of a list
//   date: "%d.%m.%Y"                    a time (type.h: append_time)
//   fixed: 2                            a number with two digits behind the point
//   urlencode                           for URLs in plain text; HTML has it done by context
//   safe                                a text::SafeHtml as it is, between tags, alone
//
// A user's own filter gets a text and makes a text, which is escaped as any other.
//
// Thread   Any; a user's filter is called on the thread that renders.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/shared_function.h"
#include "tiderace/text/type.h"

namespace tiderace::text {

inline constexpr std::size_t filter_arguments_max = 3;
inline constexpr std::int64_t fixed_digits_max = 18;

// Appends the filtered `text` to `out`. The number of arguments is the declared one.
using UserFilter = shared_function<void(std::string& out, std::string_view text,
                                        std::span<const std::string_view> arguments)>;

// Where a filter puts what it makes.
struct Scratch {
    std::string text;
    std::int64_t integer = 0;
};

struct FilterCall {
    Ref value;
    std::span<const Ref> arguments;
    Scratch& scratch;
    std::string& problem;
    // Limits::output_bytes_max: a longer text is refused, so a filter may leave the rest out.
    std::size_t bytes_max;
};

struct Filter {
    enum class Takes : std::uint8_t { text, number, time, list, list_or_text, anything, html };
    enum class Gives : std::uint8_t { text, integer, element, value, html };

    std::string name;
    std::size_t arguments = 0;
    Takes takes = Takes::text;
    Gives gives = Gives::text;
    Ref (*apply)(const FilterCall& call) = nullptr;  // without a type: `problem` says why
    UserFilter user = {};                            // instead
};

// The built-in filters.
std::span<const Filter> filters_in_the_box();
// nullptr: none of that name.
const Filter* find_filter(std::span<const Filter> filters, std::string_view name);

// "" when a value of this kind may go in; else what is expected: "a list".
std::string_view expected_by(Filter::Takes takes, Kind kind);

// Calls the filter.
Ref apply_filter(const Filter& filter, const FilterCall& call);

// The type of the texts and numbers that a Scratch and a template hold.
extern const Type& string_type;
extern const Type& view_type;
extern const Type& integer_type;

}  // namespace tiderace::text

// Internal. Fault: what is wrong with a template, and where, so that its author can see it.
//
//     post.html:3:8: no member "titel" in Post; it has title, text
//       <h1>{{ post.titel }}</h1>
//                   ^
//
// Thread   Any.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tiderace/base/language.h"

namespace tiderace::text {

inline constexpr std::size_t excerpt_columns_max = 90;

struct Source {
    std::string name;
    std::string text;
};

struct Fault {
    std::string file;
    std::size_t line = 0;    // from 1; 0: the fault has no place in a source
    std::size_t column = 0;  // from 1, in characters
    std::string problem;
    std::string excerpt;    // the line, or the part of a long one that is around the fault
    std::size_t caret = 0;  // characters before the caret

    // Three lines without an end of line: file:line:column and the problem, the excerpt, the caret.
    std::string message() const;
};
using Faults = std::vector<Fault>;

Fault fault_at(const Source& source, std::size_t offset, std::string problem);

}  // namespace tiderace::text

// Published: the figures of the five servers that this project learnt from, and why none of them
// can be compared with another, or with ours.
//
// Thread   Any: constants.
#pragma once

#include <span>
#include <string_view>

namespace tiderace::lab::report {

struct Published {
    std::string_view who;
    std::string_view source;  // where the figures, or the program with them, can be read
    std::string_view claim;
    std::string_view why_not;
    std::string_view workload;  // that asks the same question here
    std::string_view subjects;  // of ours that are of the same kind, "a,b"
};

std::span<const Published> published();

}  // namespace tiderace::lab::report

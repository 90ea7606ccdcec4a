// For tests: a flag of `tiderace serve`, and the default of any.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "server/command_line/apply_flag.h"
#include "server/command_line/flags.h"

namespace tiderace::server {

inline const ServeFlag& flag(std::string_view name) {
    for (const ServeFlag& candidate : serve_flags()) {
        if (candidate.text.name == name) return candidate;
    }
    ADD_FAILURE() << "no flag " << name;
    return serve_flags().front();
}

template <typename Options>
std::string default_of(const Flag<Options>& flag) {
    Options defaults;
    return describe(flag, defaults).default_text;
}

}  // namespace tiderace::server

// For tests: a flag of `tiderace serve`.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "server/flags.h"

namespace tiderace::server {

inline const Flag& flag(std::string_view name) {
    for (const Flag& candidate : find_command("serve")->flags) {
        if (candidate.name == name) return candidate;
    }
    ADD_FAILURE() << "no flag " << name;
    return find_command("serve")->flags.front();
}

}  // namespace tiderace::server

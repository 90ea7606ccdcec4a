// One configuration with a mistake, and the message that a person reads.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "server/config/config.h"
#include "server/config/config_fixture.h"

namespace tiderace::server::config {

struct Mistake {
    std::string_view name;
    std::string_view file;
    std::string_view told;

    void expect_told() const {
        Memory memory;
        memory.files["site.toml"] = file;
        Sources sources;
        Problems problems;
        EXPECT_FALSE(read_config("site.toml", sources, problems, memory.world()));
        EXPECT_EQ(problems.text(sources), told);
    }
};

}  // namespace tiderace::server::config

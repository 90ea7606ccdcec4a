// LoadPlan: a load as it will be run: the options, and what follows from them.
//
// Thread   Made before the workers start; read-only after.
// Errors   plan_load(): a sentence for the user.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "load/options.h"
#include "load/request.h"
#include "load/target.h"
#include "tiderace/net/connection.h"

namespace tiderace::load {

struct LoadPlan {
    LoadOptions options;
    LoadTarget target;
    LoadRequest request{};
    std::vector<core::Address> sources{};  // empty: the kernel chooses
    net::ConnectionLimits limits{};
};

// Reads the URL, looks its name up (which blocks), refuses what may not be loaded and what cannot
// be together.
std::expected<LoadPlan, std::string> plan_load(LoadOptions options,
                                               const Lookup& look_up = core::look_up);

}  // namespace tiderace::load

// ServingDefaults: what a server does unless its options have it otherwise, whatever its protocol
// (ServingOptions, ListenOptions, tcp::ServeOptions, http::ServeOptions).
#pragma once

#include "tiderace/base/units.h"

namespace tiderace::net {

struct ServingDefaults {
    static constexpr int backlog = 4096;
    static constexpr Duration drain_timeout = 10s;
    // The server before this one may have just ended, and hold the port for some milliseconds more.
    static constexpr Duration in_use_retry = 1s;
};

}  // namespace tiderace::net

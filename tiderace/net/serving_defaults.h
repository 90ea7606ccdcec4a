// Internal. ServingDefaults: what a server does unless its options have it otherwise, whatever its
// protocol (ServingOptions, ListenOptions, tcp::ServeOptions, http::ServeOptions). ListenOn: where.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/units.h"

namespace tiderace::net {

struct ServingDefaults {
    static constexpr int backlog = 4096;
    // A peer that sends a body, or takes an answer, more slowly is taken for an attacker.
    static constexpr std::uint64_t bytes_per_second_min = 256;
    static constexpr Duration drain_timeout = 10s;
    // The server before this one may have just ended, and hold the port for some milliseconds more.
    static constexpr Duration in_use_retry = 1s;
};

// One address or several: ":7" (all interfaces), "127.0.0.1:0" (the kernel chooses the port),
// "[::1]:7", "unix:/run/echo.sock".
struct ListenOn {
    ListenOn(const char* address) : addresses{address} {}             // NOLINT: serve(":7", …)
    ListenOn(std::string address) : addresses{std::move(address)} {}  // NOLINT
    ListenOn(std::initializer_list<std::string> all) : addresses(all) {}

    std::vector<std::string> addresses;
};

}  // namespace tiderace::net

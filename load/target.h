// Load target: where a URL points, and whether load may be sent there.
//
// Thread   Before the workers: names are looked up, which blocks (lookup.h).
// Errors   A sentence for the user.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "load/lookup.h"
#include "tiderace/core/address.h"

namespace tiderace::load {

struct LoadTarget {
    core::Address address;               // the first of
    std::vector<core::Address> found{};  // all that the host's name stands for
    std::string host;                    // as the Host field has it
    std::string name{};                  // of the host alone: what the certificate is for
    std::string path;                    // with its query
    bool tls = false;
};

// http[s]://HOST[:PORT][/PATH], without a fragment or a password; echo://HOST:PORT.
std::expected<LoadTarget, std::string> parse_load_target(std::string_view url,
                                                         const Lookup& look_up = core::look_up);
// Load on another's machine is an attack: only loopback, unless the user declares it their own. A
// name must stand for nothing but loopback.
std::expected<void, std::string> permit_load(const LoadTarget& target, bool i_own_this_host);

}  // namespace tiderace::load

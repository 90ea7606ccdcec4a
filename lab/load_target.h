// Load target: where a URL points, and whether load may be sent there.
//
// Thread   Before the workers: names are looked up, which blocks.
// Errors   A sentence for the person who typed it.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "lab/load_options.h"
#include "tiderace/core/address.h"

namespace tiderace::lab {

struct LoadTarget {
    core::Address address;
    std::string host;  // as the Host field has it
    std::string path;  // with its query
};

// http://HOST[:PORT][/PATH], without a fragment or a password.
std::expected<LoadTarget, std::string> parse_load_target(std::string_view url);
// Load on another's machine is an attack: only loopback, unless the person says it is theirs.
std::expected<void, std::string> permit_load(const LoadTarget& target, bool i_own_this_host);

// One request, ready to send.
std::string render_request(const LoadTarget& target, const LoadOptions& options);

}  // namespace tiderace::lab

// The address of an accepted peer, whose descriptor has no owner yet: so nothing may fail here.
//
// Thread   Any.
// Errors   A family that we do not know is [::]:0. Without memory for its path, a Unix peer is one
//          without a name, as most are.
#pragma once

#include <sys/socket.h>

#include "tiderace/core/address.h"

namespace tiderace::core {

Address peer_address(const sockaddr* from, socklen_t bytes) noexcept;

}  // namespace tiderace::core

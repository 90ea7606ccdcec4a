// Host: what may stand in a Host field and in a target's authority (RFC 3986, 3.2.2 and 3.2.3).
//
// Thread   Any: pure functions.
// Errors   `false`: the peer sent something that no URL may hold there.
// Memory   None.
#pragma once

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

// A name, an IPv4 address or an [IPv6] address, then optionally a colon and a port of 0 to 65535
// ("host:" without digits is valid too). No user, no zone, no IPvFuture. The empty host is valid
// here, as in the RFC; whether it may be empty is the caller's to say.
bool valid_host(ByteView host);

// "::1", "fe80::1:2", "::ffff:192.0.2.1": without brackets.
bool valid_ipv6(ByteView address);

}  // namespace tiderace::http::wire

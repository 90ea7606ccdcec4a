// Internal. Host: what may stand in a Host field and in a target's authority (RFC 3986, 3.2.2 and
// 3.2.3).
//
// Thread   Any: pure functions. A HostMemo belongs to one thread at a time.
// Errors   `false`: the peer sent something that no URL may hold there.
// Memory   None; a HostMemo is 72 bytes.
// Keywords: Host, :authority
#pragma once

#include <array>
#include <cstddef>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

// A name, an IPv4 address or an [IPv6] address, then optionally a colon and a port of 0 to 65535
// ("host:" without digits is valid too). No user, no zone, no IPvFuture. The empty host is valid
// here, as in the RFC; whether it may be empty is the caller's to say.
bool valid_host(ByteView host);

// The host that was found valid last: a server's requests name few hosts, and the same one again
// costs a comparison.
class HostMemo {
  public:
    bool is_valid(ByteView host);

  private:
    std::array<char, 64> bytes_;
    std::size_t size_ = 0;
};

// "Example.org" of "Example.org.:8080", "[::1]" of "[::1]:80". The dot at a name's end marks
// the name as complete and changes nothing.
ByteView host_without_port(ByteView authority);
// Whether `name` means this host: itself, in either case of letters, or ".example.org" for all
// below it.
bool is_host_of(ByteView name, ByteView host);
// "192.0.2.1" or "[2001:db8::1]".
bool is_ip_address(ByteView host);

// "::1", "fe80::1:2", "::ffff:192.0.2.1": without brackets.
bool valid_ipv6(ByteView address);

}  // namespace tiderace::http::wire

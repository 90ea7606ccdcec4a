// Internal. Network: a range of IP addresses: "10.0.0.0/8", "2001:db8::/32", or one, "::1".
//
// Thread   A value.
// Errors   parse(): how a sentence goes on that begins with the text.
// Keywords: CIDR
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/core/address.h"

namespace tiderace::net {

class Network {
  public:
    static std::expected<Network, std::string> parse(ByteView text);

    // A Unix socket's address is in none.
    bool contains(const core::Address& address) const;
    bool operator==(const Network&) const = default;

  private:
    // Addresses are compared as IPv6, in which an IPv4 address has a fixed front of 96 bits.
    core::Address::Ip ip_{};
    unsigned bits_ = 128;
};

bool any_contains(std::span<const Network> networks, const core::Address& address);

// "192.0.2.7", "192.0.2.7:80", "2001:db8::7", "[2001:db8::7]", "[2001:db8::7]:80". No names, scopes
// or paths, which core::Address would take.
std::optional<core::Address> parse_ip(ByteView text);

}  // namespace tiderace::net

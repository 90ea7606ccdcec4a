// The addresses at which other machines reach this one, and its name.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tiderace::net {

struct InterfaceAddress {
    std::string interface;  // eth0
    std::string address;    // numeric, without zone
    bool is_up = true;
    bool is_loopback = false;
};

// The kernel's list now; empty when it has none.
std::vector<InterfaceAddress> interface_addresses();

// The addresses that a phone in the same room may reach, the likeliest first: private IPv4, other
// IPv4, IPv6; interfaces of containers and virtual machines after all of these. Link-local ones are
// left out.
std::vector<std::string> lan_addresses(std::span<const InterfaceAddress> interfaces);

// As this machine calls itself; "": it has no name.
std::string host_name();

}  // namespace tiderace::net

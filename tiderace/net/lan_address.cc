#include "tiderace/net/lan_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace tiderace::net {
namespace {

// Names that container engines and hypervisors give to their side of a bridge.
constexpr std::array<std::string_view, 10> virtual_prefixes{
    "docker", "br-", "veth", "virbr", "vmnet", "vboxnet", "lxc", "lxdbr", "cni", "podman"};

// Lower is likelier; nullopt: not to be offered.
std::optional<int> rank_ipv4(const in_addr& binary) {
    const std::uint32_t address = ntohl(binary.s_addr);
    const std::uint32_t first = address >> 24;
    const std::uint32_t first_two = address >> 16;
    // This network, loopback, multicast and reserved, link-local (RFC 6890).
    if (first == 0 || first == 127 || first >= 224 || first_two == 0xa9fe) return std::nullopt;
    // The private networks (RFC 1918), then public addresses, which few machines have themselves.
    if (first_two == 0xc0a8) return 0;                         // 192.168.0.0/16
    if (first == 10) return 1;                                 // 10.0.0.0/8
    if (first_two >= 0xac10 && first_two <= 0xac1f) return 2;  // 172.16.0.0/12
    return 3;
}

std::optional<int> rank_ipv6(const in6_addr& address) {
    if (IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_LINKLOCAL(&address) ||
        IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_MULTICAST(&address) ||
        IN6_IS_ADDR_V4MAPPED(&address)) {
        return std::nullopt;
    }
    return 4;
}

std::optional<int> rank(const InterfaceAddress& candidate) {
    if (!candidate.is_up || candidate.is_loopback) return std::nullopt;
    std::optional<int> rank;
    in_addr v4;
    in6_addr v6;
    if (inet_pton(AF_INET, candidate.address.c_str(), &v4) == 1) {
        rank = rank_ipv4(v4);
    } else if (inet_pton(AF_INET6, candidate.address.c_str(), &v6) == 1) {
        rank = rank_ipv6(v6);
    }
    const bool is_virtual = std::ranges::any_of(virtual_prefixes, [&](std::string_view prefix) {
        return candidate.interface.starts_with(prefix);
    });
    // Behind all others: other machines rarely reach them.
    if (rank && is_virtual) *rank += 10;
    return rank;
}

std::string numeric(const sockaddr& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* binary = nullptr;
    if (address.sa_family == AF_INET)
        binary = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    if (address.sa_family == AF_INET6)
        binary = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (!binary || !inet_ntop(address.sa_family, binary, text.data(), text.size())) return {};
    return text.data();
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return {};
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
    std::vector<InterfaceAddress> found;
    for (const ifaddrs* entry = first; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr) continue;
        std::string address = numeric(*entry->ifa_addr);
        if (address.empty()) continue;
        found.push_back({entry->ifa_name, std::move(address), (entry->ifa_flags & IFF_UP) != 0,
                         (entry->ifa_flags & IFF_LOOPBACK) != 0});
    }
    return found;
}

std::vector<std::string> lan_addresses(std::span<const InterfaceAddress> interfaces) {
    // The rank, then the place in the kernel's list.
    std::vector<std::pair<int, const InterfaceAddress*>> ranked;
    for (const InterfaceAddress& each : interfaces) {
        if (const auto place = rank(each)) ranked.emplace_back(*place, &each);
    }
    std::ranges::sort(ranked);
    std::vector<std::string> addresses;
    for (const auto& [place, each] : ranked) {
        if (std::ranges::find(addresses, each->address) != addresses.end()) continue;
        addresses.push_back(each->address);
    }
    return addresses;
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return {};
    return name.data();
}

}  // namespace tiderace::net

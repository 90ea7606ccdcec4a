#include "tiderace/net/network.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tiderace/base/ascii.h"

namespace tiderace::net {
namespace {

constexpr std::size_t address_bytes_max = 64;

}  // namespace

std::optional<core::Address> parse_ip(ByteView text) {
    const auto is_part = [](char c) {
        return hex_value(c) >= 0 || c == '.' || c == ':' || c == '[' || c == ']';
    };
    if (text.empty() || text.size() > address_bytes_max || !std::ranges::all_of(text, is_part)) {
        return std::nullopt;
    }
    const auto colons = std::ranges::count(text, ':');
    std::string whole(text);
    if (text.starts_with('[')) {
        if (text.ends_with(']')) whole += ":0";
    } else if (colons > 1) {
        whole = "[" + whole + "]:0";
    } else if (colons == 0) {
        whole += ":0";
    } else if (text.starts_with(':')) {
        return std::nullopt;
    }
    auto parsed = core::Address::parse(whole);
    if (!parsed) return std::nullopt;
    return std::move(*parsed);
}

std::expected<Network, std::string> Network::parse(ByteView text) {
    const std::size_t slash = text.find('/');
    const ByteView ip = text.substr(0, slash);
    const auto address = parse_ip(ip);
    const auto colons = std::ranges::count(ip, ':');
    if (!address || ip.contains('[') || colons == 1) {
        return std::unexpected("is no address or network");
    }
    const unsigned before = colons == 0 ? 96 : 0;
    Network network;
    if (slash != text.npos) {
        const auto named = parse_number<unsigned>(text.substr(slash + 1));
        if (!named || *named > 128 - before) return std::unexpected("has a bad number of bits");
        network.bits_ = *named + before;
    }
    network.ip_ = address->ip();
    for (unsigned bit = network.bits_; bit < 128; ++bit) {
        // 10.0.0.1/8 is probably a mistake, and would hold for more than its author meant.
        if ((network.ip_[bit / 8] >> (7 - bit % 8) & 1) != 0) {
            return std::unexpected("has bits behind the network's");
        }
    }
    return network;
}

bool Network::contains(const core::Address& address) const {
    if (address.is_unix()) return false;
    const core::Address::Ip& ip = address.ip();
    const std::size_t whole = bits_ / 8;
    const unsigned rest = bits_ % 8;
    if (std::memcmp(ip.data(), ip_.data(), whole) != 0) return false;
    return rest == 0 || (ip[whole] ^ ip_[whole]) >> (8 - rest) == 0;
}

bool any_contains(std::span<const Network> networks, const core::Address& address) {
    return std::ranges::any_of(networks,
                               [&](const Network& each) { return each.contains(address); });
}

}  // namespace tiderace::net

#include "tiderace/http/wire/host.h"

#include <cstring>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

constexpr unsigned port_max = 65535;
constexpr int ipv6_groups = 8;

// The index after the longest reg-name at the start; a percent must begin an encoded byte.
std::size_t reg_name_end(ByteView host) {
    std::size_t at = 0;
    while (true) {
        while (at < host.size() && is(host_byte, host[at])) ++at;
        const bool encoded = at + 2 < host.size() && host[at] == '%' &&
                             hex_value(host[at + 1]) >= 0 && hex_value(host[at + 2]) >= 0;
        if (!encoded) return at;
        at += 3;
    }
}

// "" or ":" or ":8080".
bool valid_port(ByteView rest) {
    if (rest.empty()) return true;
    if (rest.front() != ':') return false;
    rest.remove_prefix(1);
    unsigned port = 0;
    for (const char c : rest) {
        const auto digit = static_cast<unsigned>(static_cast<unsigned char>(c)) - '0';
        if (digit > 9) return false;
        port = port * 10 + digit;
        if (port > port_max) return false;
    }
    return true;
}

bool valid_ipv4(ByteView address) {
    for (int part = 0; part < 4; ++part) {
        std::size_t digits = 0;
        unsigned value = 0;
        while (digits < address.size() && digits < 3 && is_digit(address[digits])) {
            value = value * 10 + static_cast<unsigned>(address[digits++] - '0');
        }
        // Some readers take a leading zero for octal.
        const bool leading_zero = digits > 1 && address[0] == '0';
        if (digits == 0 || leading_zero || value > 255) return false;
        address.remove_prefix(digits);
        if (part == 3) return address.empty();
        if (address.empty() || address.front() != '.') return false;
        address.remove_prefix(1);
    }
    return false;
}

std::size_t hex_digits(ByteView bytes) {
    std::size_t count = 0;
    while (count < bytes.size() && hex_value(bytes[count]) >= 0) ++count;
    return count;
}

}  // namespace

bool valid_ipv6(ByteView address) {
    int groups = 0;
    bool gap = false;  // "::" was seen
    if (address.starts_with("::")) {
        gap = true;
        address.remove_prefix(2);
    }
    while (!address.empty()) {
        // The last two groups may be written as an IPv4 address.
        if (address.find(':') == ByteView::npos && address.find('.') != ByteView::npos) {
            if (!valid_ipv4(address)) return false;
            groups += 2;
            break;
        }
        const std::size_t digits = hex_digits(address);
        if (digits == 0 || digits > 4 || groups == ipv6_groups) return false;
        ++groups;
        address.remove_prefix(digits);
        if (address.empty()) break;
        if (address.starts_with("::")) {
            if (gap) return false;
            gap = true;
            address.remove_prefix(2);
        } else if (address.size() > 1 && address.front() == ':') {
            address.remove_prefix(1);
        } else {
            return false;
        }
    }
    // "::" stands for at least one group (RFC 4291, 2.2, as RFC 3986 reads it).
    return gap ? groups < ipv6_groups : groups == ipv6_groups;
}

namespace {

// Beside valid_host, where it would cost every request the registers that it needs.
[[gnu::noinline]] bool valid_literal(ByteView host) {
    const std::size_t end = host.find(']');
    return end != ByteView::npos && valid_ipv6(host.substr(1, end - 1)) &&
           valid_port(host.substr(end + 1));
}

}  // namespace

bool valid_host(ByteView host) {
    if (host.starts_with('[')) return valid_literal(host);
    host.remove_prefix(reg_name_end(host));
    return valid_port(host);
}

// Only valid hosts are remembered, so that a flood of bad ones cannot evict the good one.
bool HostMemo::is_valid(ByteView host) {
    // Nearly all requests of a connection name the same host.
    if (!host.empty() && host.size() == size_ &&
        std::memcmp(host.data(), bytes_.data(), host.size()) == 0) {
        return true;
    }
    if (!valid_host(host)) return false;
    if (host.size() <= bytes_.size()) {
        size_ = host.copy(bytes_.data(), host.size());
    }
    return true;
}

ByteView host_without_port(ByteView authority) {
    // Most have none, and looking from the begin is many bytes at a time.
    if (authority.contains(':')) {
        const std::size_t colon = authority.rfind(':');
        const std::size_t bracket = authority.rfind(']');
        // A colon inside the brackets of an IPv6 address begins no port.
        if (bracket == ByteView::npos || colon > bracket) authority = authority.substr(0, colon);
    }
    if (authority.ends_with('.')) authority.remove_suffix(1);
    return authority;
}

bool is_host_of(ByteView name, ByteView host) {
    if (!name.starts_with('.')) return equals_ignoring_case(name, host);
    return host.size() > name.size() && ends_with_ignoring_case(host, name);
}

bool is_ip_address(ByteView host) {
    const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    return is_bracketed ? valid_ipv6(host.substr(1, host.size() - 2)) : valid_ipv4(host);
}

}  // namespace tiderace::http::wire

#include "tiderace/core/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

#include "tiderace/base/ascii.h"
#include "tiderace/base/check.h"

namespace tiderace::core {
namespace {

// IPv4 addresses are kept as mapped ones (RFC 4291, 2.5.5.2), so that a client on a dual-stack
// socket, whose address arrives in that form, prints as IPv4.
constexpr std::array<std::uint8_t, 12> ip4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::string_view unix_prefix = "unix:";
constexpr std::size_t unix_path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t unix_path_offset = offsetof(sockaddr_un, sun_path);

std::unexpected<Error> refuse(std::string_view text, std::string_view why) {
    return fail(Error(0, "address", '"' + std::string(text) + '"', why));
}

// inet_pton() needs a NUL at the end. A text too long for the buffer is no address.
template <typename Out>
bool parse_ip(int family, std::string_view text, Out& out) {
    char terminated[INET6_ADDRSTRLEN] = {};
    if (text.size() >= sizeof(terminated) || text.contains('\0')) return false;
    text.copy(terminated, text.size());
    return ::inet_pton(family, terminated, &out) == 1;
}

// "2" or "eth0"; 0 is no interface.
std::uint32_t parse_scope(std::string_view text) {
    if (const auto scope = parse_number<std::uint32_t>(text)) return *scope;
    if (text.contains('\0')) return 0;
    return ::if_nametoindex(std::string(text).c_str());
}

// A guess at the intended address, for a text without any ':'.
std::string advise_without_colon(std::string_view text) {
    std::string advice = "there is no ':' before a port; did you mean ";
    if (parse_number<std::uint16_t>(text)) return advice.append(":").append(text);
    if (text.contains('/')) return advice.append(unix_prefix).append(text);
    return advice.append(text).append(":8080");
}

char* append_number(char* out, unsigned number, int base) {
    return std::to_chars(out, out + 10, number, base).ptr;
}

// Not std::to_chars(), and not inline: four copies of either are ten cache lines of code, and each
// request to a program needs its client's address as a text.
[[gnu::noinline]] char* append_octet(char* out, unsigned number) {
    const auto digit = [](unsigned value) { return static_cast<char>('0' + value % 10); };
    if (number >= 100) *out++ = digit(number / 100);
    if (number >= 10) *out++ = digit(number / 10);
    *out++ = digit(number);
    return out;
}
char* append_ip4(char* out, const std::uint8_t* bytes) {
    for (int i = 0; i < 4; ++i) {
        if (i > 0) *out++ = '.';
        out = append_octet(out, bytes[i]);
    }
    return out;
}

struct ZeroRun {
    int begin = 8;
    int end = 8;
};

// The longest run of at least two zero groups, the first of equals: RFC 5952 section 4.2.
ZeroRun longest_zero_run(const std::array<unsigned, 8>& groups) {
    ZeroRun best;
    for (int begin = 0; begin < 8;) {
        int end = begin;
        while (end < 8 && groups[static_cast<std::size_t>(end)] == 0) ++end;
        if (end - begin >= 2 && end - begin > best.end - best.begin) best = {begin, end};
        begin = end + 1;
    }
    return best;
}

char* append_ip6(char* out, const std::uint8_t* bytes) {
    std::array<unsigned, 8> groups;
    for (std::size_t i = 0; i < 8; ++i) {
        groups[i] = static_cast<unsigned>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
    }
    const ZeroRun run = longest_zero_run(groups);
    for (int i = 0; i < 8; ++i) {
        if (i == run.begin) {
            *out++ = ':';
            *out++ = ':';
            i = run.end;
            if (i == 8) break;
        } else if (i > 0) {
            *out++ = ':';
        }
        out = append_number(out, groups[static_cast<std::size_t>(i)], 16);
    }
    return out;
}

}  // namespace

Address::Address(const Address& other)
    : ip_(other.ip_),
      path_(other.path_ ? std::make_unique<std::string>(*other.path_) : nullptr),
      scope_(other.scope_),
      port_(other.port_),
      family_(other.family_) {}

Address& Address::operator=(const Address& other) {
    if (this != &other) *this = Address(other);
    return *this;
}

Result<Address> Address::parse(std::string_view text) {
    if (text.starts_with(unix_prefix)) return parse_unix(text);
    // The last colon: an IPv6 address in brackets has others.
    const std::size_t colon = text.rfind(':');
    if (text.empty()) return refuse(text, "it is empty; write 127.0.0.1:8080, or :8080 for all");
    if (colon == text.npos) return refuse(text, advise_without_colon(text));
    if (text.ends_with(']')) return refuse(text, "there is no port after the ']'");
    std::string_view host = text.substr(0, colon);
    // "::1:8080" would be ambiguous: the last group or the port.
    if (!host.starts_with('[') && host.contains(':')) {
        return refuse(text, "write an IPv6 address in brackets, as in [::1]:8080");
    }
    const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
    if (!port) return refuse(text, "the port is not a number from 0 to 65535");
    Result<Address> address = parse_host(host, text);
    if (address) address->port_ = *port;
    return address;
}

Result<Address> Address::parse_host(std::string_view host, std::string_view text) {
    // ":8080": an empty host is every address of this machine.
    if (host.empty()) return any(0);
    // Without a name server, which could send it elsewhere (RFC 6761, 6.3).
    if (host == "localhost") return loopback(0);
    Address address;
    if (host.starts_with('[')) {
        if (!host.ends_with(']')) return refuse(text, "a ']' is missing before the port");
        host = host.substr(1, host.size() - 2);
        // A link-local address needs its interface (RFC 4007, 11).
        const std::size_t percent = host.find('%');
        if (percent != host.npos) {
            address.scope_ = parse_scope(host.substr(percent + 1));
            if (address.scope_ == 0) return refuse(text, "there is no interface of that name");
        }
        if (parse_ip(AF_INET6, host.substr(0, percent), address.ip_)) return address;
        return refuse(text, "between the brackets is no IPv6 address");
    }
    std::array<std::uint8_t, 4> ip4;
    if (parse_ip(AF_INET, host, ip4)) return from_ip4(ip4.data());
    return refuse(text, "\"" + std::string(host) +
                            "\" is no IP address, and names are not looked up; write an address "
                            "such as 127.0.0.1, or nothing before the ':' for all");
}

Result<Address> Address::parse_unix(std::string_view text) {
    std::string path(text.substr(unix_prefix.size()));
    if (path.empty()) return refuse(text, "there is no path; write unix:/run/name.sock");
    // The kernel would cut a longer path, and bind another name.
    if (path.size() > unix_path_bytes_max) {
        return refuse(text, "the path of a Unix socket has at most " +
                                std::to_string(unix_path_bytes_max) + " bytes");
    }
    if (path.contains('\0')) return refuse(text, "there is a NUL in the path");
    // Linux's abstract sockets have a name that begins with a NUL and no file; tools write it as
    // '@'.
    if (path[0] == '@') {
#if defined(__linux__)
        path[0] = '\0';
#else
        return refuse(text, "only Linux has abstract sockets; write a path");
#endif
    }
    return from_path(path);
}

Result<Address> Address::from_sockaddr(const sockaddr* from, socklen_t bytes) {
    // Copied, because `from` need not be aligned for its family.
    Address address;
    if (from->sa_family == AF_INET && bytes >= sizeof(sockaddr_in)) {
        sockaddr_in ip4;
        std::memcpy(&ip4, from, sizeof(ip4));
        // In network order, as Address keeps it.
        address = from_ip4(reinterpret_cast<const std::uint8_t*>(&ip4.sin_addr));
        address.port_ = ntohs(ip4.sin_port);
        return address;
    }
    if (from->sa_family == AF_INET6 && bytes >= sizeof(sockaddr_in6)) {
        sockaddr_in6 ip6;
        std::memcpy(&ip6, from, sizeof(ip6));
        std::memcpy(address.ip_.data(), &ip6.sin6_addr, address.ip_.size());
        address.port_ = ntohs(ip6.sin6_port);
        address.scope_ = ip6.sin6_scope_id;
        return address;
    }
    if (from->sa_family == AF_UNIX && bytes >= unix_path_offset) {
        const char* path = reinterpret_cast<const char*>(from) + unix_path_offset;
        std::size_t length =
            std::min<std::size_t>(bytes - unix_path_offset, unix_path_bytes_max + 1);
        // An abstract name has the length given, a path ends at its NUL.
        if (length > 0 && path[0] != '\0') length = ::strnlen(path, length);
        return from_path(std::string_view(path, length));
    }
    return fail(
        Error(EAFNOSUPPORT, "read socket address", "of family " + std::to_string(from->sa_family)));
}

Address Address::from_ip4(const std::uint8_t* bytes) {
    Address address;
    address.family_ = Family::ip4;
    std::copy(ip4_prefix.begin(), ip4_prefix.end(), address.ip_.begin());
    std::copy_n(bytes, 4, address.ip_.begin() + ip4_prefix.size());
    return address;
}

Address Address::from_path(std::string_view path) {
    Address address;
    address.family_ = Family::unix_path;
    // None without a name, as most Unix peers: it does not allocate, which may fail for an accepted
    // one.
    if (!path.empty()) address.path_ = std::make_unique<std::string>(path);
    return address;
}

Address Address::loopback(std::uint16_t port) {
    const std::array<std::uint8_t, 4> ip4{127, 0, 0, 1};
    return from_ip4(ip4.data()).with_port(port);
}

Address Address::any(std::uint16_t port) {
    return Address().with_port(port);
}

socklen_t Address::to_sockaddr(sockaddr_storage& out) const {
    out = {};
    if (family_ == Family::ip4) {
        sockaddr_in ip4{};
        ip4.sin_family = AF_INET;
        ip4.sin_port = htons(port_);
        std::memcpy(&ip4.sin_addr, ip_.data() + ip4_prefix.size(), 4);
        std::memcpy(&out, &ip4, sizeof(ip4));
        return sizeof(ip4);
    }
    if (family_ == Family::ip6) {
        sockaddr_in6 ip6{};
        ip6.sin6_family = AF_INET6;
        ip6.sin6_port = htons(port_);
        ip6.sin6_scope_id = scope_;
        std::memcpy(&ip6.sin6_addr, ip_.data(), ip_.size());
        std::memcpy(&out, &ip6, sizeof(ip6));
        return sizeof(ip6);
    }
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    // sun_path is all zeros before, so a shorter path has its NUL.
    path().copy(local.sun_path, sizeof(local.sun_path));
    std::memcpy(&out, &local, sizeof(local));
    // The length of a path counts its NUL. An abstract name has none, and neither has a path that
    // fills the field.
    const bool has_nul =
        !path().empty() && path()[0] != '\0' && path().size() <= unix_path_bytes_max;
    return static_cast<socklen_t>(unix_path_offset + path().size() + (has_nul ? 1 : 0));
}

std::string Address::to_string() const {
    if (is_unix()) {
        std::string text = std::string(unix_prefix).append(path());
        // The form that parse() reads.
        std::replace(text.begin(), text.end(), '\0', '@');
        return text;
    }
    char ip[ip_text_bytes_max];
    const std::string_view shown(ip, format_ip(ip));
    std::string text;
    if (holds_ip4()) {
        text.append(shown);
    } else {
        text.append("[").append(shown).append("]");
    }
    return text.append(":").append(std::to_string(port_));
}

std::size_t Address::format_ip(char* out) const {
    if (is_unix()) return unix_prefix.copy(out, unix_prefix.size());
    char* end = out;
    if (holds_ip4()) {
        end = append_ip4(out, ip_.data() + ip4_prefix.size());
    } else {
        end = append_ip6(out, ip_.data());
        if (scope_ != 0) {
            *end++ = '%';
            end = append_number(end, scope_, 10);
        }
    }
    return static_cast<std::size_t>(end - out);
}

Address Address::subscriber() const {
    // A /64 is one link (RFC 4291, 2.5.1): a host picks any of its 2^64 addresses, and changes them
    // as it likes (RFC 8981). Counted one by one, a single client would pass every limit.
    constexpr std::size_t prefix_bytes = 8;
    if (is_unix()) return from_path({});
    Address one = *this;
    one.port_ = 0;
    one.scope_ = 0;
    // By bytes, because "::" stands for any number of groups in a text.
    if (!holds_ip4()) std::ranges::fill(std::span(one.ip_).subspan(prefix_bytes), 0);
    return one;
}

bool Address::is_loopback() const {
    if (is_unix()) return false;
    // All of 127.0.0.0/8 is the loopback (RFC 1122, 3.2.1.3).
    if (holds_ip4()) return ip_[ip4_prefix.size()] == 127;
    Ip one{};
    one.back() = 1;
    return ip_ == one;
}

bool Address::is_any() const {
    if (is_unix()) return false;
    const auto first = ip_.begin() + (holds_ip4() ? ip4_prefix.size() : 0);
    return std::all_of(first, ip_.end(), [](std::uint8_t byte) { return byte == 0; });
}

Address Address::with_port(std::uint16_t port) const {
    TR_CHECK(!is_unix(), "a Unix address has no port");
    Address address(*this);
    address.port_ = port;
    return address;
}

std::string_view Address::path() const {
    return path_ ? std::string_view(*path_) : "";
}

bool Address::operator==(const Address& other) const {
    return family_ == other.family_ && port_ == other.port_ && scope_ == other.scope_ &&
           ip_ == other.ip_ && path() == other.path();
}

Address Address::unmapped() const {
    if (family_ != Family::ip6 || !holds_ip4()) return *this;
    return from_ip4(ip_.data() + ip4_prefix.size()).with_port(port_);
}

// By content, not by family: a client on a dual-stack socket has family ip6 and a mapped address.
bool Address::holds_ip4() const {
    return std::equal(ip4_prefix.begin(), ip4_prefix.end(), ip_.begin());
}

}  // namespace tiderace::core

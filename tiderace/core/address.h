// Internal. Address: where a socket is: IPv4 or IPv6 with a port, or a path of the file system
// (Unix).
//
//   127.0.0.1:8080   [::1]:8080   :8080 (all addresses)   localhost:8080   unix:/run/x.sock
//
// Thread   A value; copies are independent.
// Errors   parse() explains what is wrong with the text and what to write instead. It does not look
//          names up, because that blocks.
// Memory   32 bytes; the path of a Unix address is one allocation more.
// Keywords: IPv4, IPv6, Unix socket, sockaddr
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include "tiderace/base/result.h"

namespace tiderace::core {

class Address final {
  public:
    using Ip = std::array<std::uint8_t, 16>;  // network order; IPv4 as ::ffff:a.b.c.d
    enum class Family : std::uint8_t { ip4, ip6, unix_path };

    // The longest text of format_ip(): an IPv6 address and a scope.
    static constexpr std::size_t ip_text_bytes_max = 39 + 1 + 10;

    // [::]:0, all addresses and a port of the kernel's choice.
    Address() = default;
    Address(const Address& other);
    Address& operator=(const Address& other);
    Address(Address&&) noexcept = default;
    Address& operator=(Address&&) noexcept = default;
    ~Address() = default;

    // The text forms above. ":8080" is [::]:8080, which a listener opens for IPv4 too. "localhost"
    // is 127.0.0.1. Port 0 lets the kernel choose. "unix:@name" is a Linux abstract socket.
    static Result<Address> parse(std::string_view text);
    // Accepts the results of accept, getsockname and getaddrinfo. Fails on any other family.
    static Result<Address> from_sockaddr(const sockaddr* from, socklen_t bytes);
    static Address loopback(std::uint16_t port);  // 127.0.0.1
    static Address any(std::uint16_t port);       // [::]

    // Returns how many bytes of `out` count.
    socklen_t to_sockaddr(sockaddr_storage& out) const;

    // A text that parse() accepts, in which an IPv4 peer of a dual-stack socket reads as IPv4. A
    // Unix peer without a name is "unix:".
    std::string to_string() const;
    // The IP address alone ("unix:" for Unix), into at least ip_text_bytes_max bytes; returns how
    // many. No NUL, no allocation: it is called per log line.
    std::size_t format_ip(char* out) const;

    Family family() const { return family_; }
    bool is_unix() const { return family_ == Family::unix_path; }
    bool is_loopback() const;  // 127.0.0.0/8 or ::1; a Unix address is not
    bool is_any() const;       // 0.0.0.0 or ::

    const Ip& ip() const { return ip_; }          // zeros for Unix
    std::uint16_t port() const { return port_; }  // 0 for Unix
    Address with_port(std::uint16_t port) const;  // an IP address only
    // The IPv4 address inside a mapped one ([::ffff:127.0.0.1]:80); any other is as it was.
    Address unmapped() const;
    std::string_view path() const;                // "" for IP; '\0' first if abstract
    // The client that limits count: an IPv4 address, of IPv6 the /64, because one subscriber has at
    // least that many addresses and could use a new one for each request. Without port and scope.
    // All Unix peers are one, "unix:".
    Address subscriber() const;

    bool operator==(const Address& other) const;

  private:
    static Result<Address> parse_host(std::string_view host, std::string_view text);
    static Result<Address> parse_unix(std::string_view text);
    static Address from_ip4(const std::uint8_t* bytes);
    static Address from_path(std::string_view path);
    bool holds_ip4() const;  // also inside IPv6

    Ip ip_{};
    std::unique_ptr<std::string> path_;  // Unix only
    std::uint32_t scope_ = 0;            // the interface of a link-local address
    std::uint16_t port_ = 0;
    Family family_ = Family::ip6;
};
static_assert(sizeof(Address) <= 32);

}  // namespace tiderace::core

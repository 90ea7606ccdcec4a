#include "tiderace/net/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace tiderace::net {
namespace {

// FreeBSD's SO_REUSEPORT is for multicast, and has another name for what Linux means by it.
#if defined(SO_REUSEPORT_LB)
constexpr int share_port = SO_REUSEPORT_LB;
constexpr bool spreads = true;
#elif defined(__linux__)
constexpr int share_port = SO_REUSEPORT;
constexpr bool spreads = true;
#else
constexpr int share_port = SO_REUSEPORT;
constexpr bool spreads = false;
#endif

std::string_view advice_for_listening(int error) {
    switch (error) {
        case EADDRINUSE:
            return "another program listens there; stop it or choose another address";
        case EACCES:
            return "ports below 1024 need root or CAP_NET_BIND_SERVICE; 8080 needs neither";
        case EADDRNOTAVAIL:
            return "this machine has no such address";
        case ENOENT:
            return "the directory of the socket file does not exist";
        default:
            return "";
    }
}

Error failed(std::string_view operation, const core::Address& address, int result) {
    return Error(-result, operation, address.to_string(), advice_for_listening(-result));
}

// True if a Unix socket's file is there but nobody answers behind it. Any other file gives the same
// ECONNREFUSED, and is somebody's.
bool is_stale(core::Kernel& kernel, const std::string& path, const sockaddr* address,
              socklen_t bytes) {
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
    const core::Descriptor probe(kernel, kernel.open_socket(AF_UNIX, SOCK_STREAM, 0));
    return probe && kernel.connect(probe.get(), address, bytes) == -ECONNREFUSED;
}

void set_flag(core::Kernel& kernel, int fd, int level, int name, int value) {
    kernel.set_option(fd, level, name, &value, sizeof value);
}

Result<core::Descriptor> open_at(core::Kernel& kernel, const core::Address& address,
                                 const ListenOptions& options) {
    sockaddr_storage storage;
    const socklen_t bytes = address.to_sockaddr(storage);
    const auto* raw = reinterpret_cast<const sockaddr*>(&storage);
    core::Descriptor listener(kernel, kernel.open_socket(storage.ss_family, SOCK_STREAM, 0));
    if (!listener) return fail(failed("open a socket for", address, listener.get()));

    if (!address.is_unix()) {
        set_flag(kernel, listener.get(), SOL_SOCKET, SO_REUSEADDR, 1);
        set_flag(kernel, listener.get(), IPPROTO_TCP, TCP_NODELAY, 1);
        if (storage.ss_family == AF_INET6) {
            set_flag(kernel, listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, address.is_any() ? 0 : 1);
        }
        if (options.reuse_port) set_flag(kernel, listener.get(), SOL_SOCKET, share_port, 1);
    }
    int bound = kernel.bind(listener.get(), raw, bytes);
    if (bound == -EADDRINUSE && address.is_unix()) {
        const std::string path(address.path());
        if (is_stale(kernel, path, raw, bytes)) {
            ::unlink(path.c_str());
            bound = kernel.bind(listener.get(), raw, bytes);
        }
    }
    if (bound < 0) return fail(failed("bind", address, bound));
    if (const int listening = kernel.listen(listener.get(), options.backlog); listening < 0) {
        return fail(failed("listen on", address, listening));
    }
    return listener;
}

}  // namespace

bool shared_ports_are_spread() {
    return spreads;
}

Result<core::Descriptor> open_listener(core::Kernel& kernel, const core::Address& address,
                                       const ListenOptions& options) {
    auto listener = open_at(kernel, address, options);
    if (listener.has_value() || !address.is_any() ||
        address.family() != core::Address::Family::ip6) {
        return listener;
    }
    // A machine without IPv6 has no such sockets; with it switched off, no such address.
    const int code = listener.error().code();
    if (code != EAFNOSUPPORT && code != EADDRNOTAVAIL) return listener;
    const auto all_ip4 = core::Address::parse("0.0.0.0:" + std::to_string(address.port()));
    return open_at(kernel, *all_ip4, options);
}

core::Address local_address(core::Kernel& kernel, const core::Descriptor& listener) {
    sockaddr_storage storage{};
    socklen_t bytes = sizeof storage;
    kernel.local_address(listener.get(), reinterpret_cast<sockaddr*>(&storage), &bytes);
    auto address = core::Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage), bytes);
    return address ? *address : core::Address{};
}

}  // namespace tiderace::net

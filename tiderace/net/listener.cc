#include "tiderace/net/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/net/folder_lock.h"

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

// True if a Unix socket's file is there without a socket behind it. Asked with a datagram socket:
// if a socket has the name, listening or only bound, the kernel reports another type (EPROTOTYPE).
// Any other file gives the same ECONNREFUSED, and belongs to someone.
bool is_stale(core::Kernel& kernel, const std::string& path, const sockaddr* address,
              socklen_t bytes) {
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
    const core::Descriptor probe(kernel, kernel.open_socket(AF_UNIX, SOCK_DGRAM, 0));
    return probe && kernel.connect(probe.get(), address, bytes) == -ECONNREFUSED;
}

// The kernel's EADDRINUSE has one word for a socket that serves and for any other file.
Error refused_to_bind(const core::Address& address, int result) {
    struct stat status;
    const std::string path(address.path());
    const bool is_file = result == -EADDRINUSE && address.is_unix() && !path.starts_with('\0') &&
                         ::lstat(path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode);
    if (!is_file) return failed("bind", address, result);
    return Error(EEXIST, "bind", address.to_string(),
                 S_ISDIR(status.st_mode)
                     ? "a folder of that name is there; give the name of a file in it"
                     : "a file that is no socket is there; remove it, or choose another name");
}

void set_flag(core::Kernel& kernel, int fd, int level, int name, int value) {
    kernel.set_option(fd, level, name, &value, sizeof value);
}

constexpr Duration retry_interval = 10ms;  // while a port is in use

// Held while a name is checked, removed and taken, so that no server that starts at the same time
// removes another's new socket. If the folder cannot be opened or has no locks, we go on without.
Result<core::Descriptor> lock_folder_of(core::Kernel& kernel, const core::Address& address,
                                        Duration wait_max) {
    const std::string path(address.path());
    const auto slash = path.rfind('/');
    // The folder, not the socket's own file: that one is replaced.
    const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
    core::Descriptor locked(
        kernel, ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
    if (locked && lock_folder(locked.get(), wait_max) == FolderLock::held_by_another) {
        return fail(Error(EBUSY, "bind", address.to_string(),
                          "another program keeps the lock of the folder " + folder +
                              "; end it (lslocks lists it), or choose a folder that other "
                              "users cannot open"));
    }
    return locked;
}

Result<> bind_name(core::Kernel& kernel, int fd, const core::Address& address, const sockaddr* raw,
                   socklen_t bytes, const ListenOptions& options) {
    const auto lock = lock_folder_of(kernel, address, options.folder_lock_wait);
    if (!lock) return fail(lock.error());
    const std::string path(address.path());
    int bound = kernel.bind(fd, raw, bytes);
    if (bound == -EADDRINUSE && is_stale(kernel, path, raw, bytes)) {
        // A server that is killed leaves its file.
        ::unlink(path.c_str());
        bound = kernel.bind(fd, raw, bytes);
    }
    if (bound < 0) return fail(refused_to_bind(address, bound));
    return {};
}

Result<core::Descriptor> bind_at(core::Kernel& kernel, const core::Address& given,
                                 const ListenOptions& options) {
    // The kernel binds a mapped address to no socket of IPv6 alone, as ours are.
    const core::Address address = given.unmapped();
    sockaddr_storage storage;
    const socklen_t bytes = address.to_sockaddr(storage);
    const auto* raw = reinterpret_cast<const sockaddr*>(&storage);
    core::Descriptor listener(kernel, kernel.open_socket(storage.ss_family, SOCK_STREAM, 0));
    if (!listener) return fail(failed("open a socket for", address, listener.get()));

    if (!address.is_unix()) {
        // A restarted server may bind while connections of the old one are in TIME_WAIT.
        set_flag(kernel, listener.get(), SOL_SOCKET, SO_REUSEADDR, 1);
        // Accepted sockets inherit it, which saves a call for each.
        set_flag(kernel, listener.get(), IPPROTO_TCP, TCP_NODELAY, 1);
        if (storage.ss_family == AF_INET6) {
            // Set either way, because the default depends on the machine (net.ipv6.bindv6only).
            set_flag(kernel, listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, address.is_any() ? 0 : 1);
        }
        if (options.reuse_port) set_flag(kernel, listener.get(), SOL_SOCKET, share_port, 1);
    }
    if (address.is_unix()) {
        const auto named = bind_name(kernel, listener.get(), address, raw, bytes, options);
        if (!named) return fail(named.error());
    } else if (const int bound = kernel.bind(listener.get(), raw, bytes); bound < 0) {
        return fail(refused_to_bind(address, bound));
    }
    return listener;
}

Result<core::Descriptor> bind_now(core::Kernel& kernel, const core::Address& address,
                                  const ListenOptions& options) {
    auto listener = bind_at(kernel, address, options);
    if (listener.has_value() || !address.is_any() ||
        address.family() != core::Address::Family::ip6) {
        return listener;
    }
    // A machine without IPv6 has no such sockets; with it switched off, no such address.
    const int code = listener.error().code();
    if (code != EAFNOSUPPORT && code != EADDRNOTAVAIL) return listener;
    const auto all_ip4 = core::Address::parse("0.0.0.0:" + std::to_string(address.port()));
    return bind_at(kernel, *all_ip4, options);
}

}  // namespace

bool shared_ports_are_spread() {
    return spreads;
}

Result<core::Descriptor> bind_listener(core::Kernel& kernel, const core::Address& address,
                                       const ListenOptions& options) {
    auto listener = bind_now(kernel, address, options);
    for (Duration waited{};
         !listener && listener.error().code() == EADDRINUSE && waited < options.in_use_retry;
         waited += retry_interval) {
        std::this_thread::sleep_for(retry_interval);
        listener = bind_now(kernel, address, options);
    }
    return listener;
}

Result<> start_listening(core::Kernel& kernel, const core::Descriptor& bound, int backlog) {
    const int listening = kernel.listen(bound.get(), backlog);
    if (listening >= 0) return {};
    return fail(failed("listen on", local_address(kernel, bound), listening));
}

Result<core::Descriptor> open_listener(core::Kernel& kernel, const core::Address& address,
                                       const ListenOptions& options) {
    auto listener = bind_listener(kernel, address, options);
    if (!listener) return listener;
    const int listening = kernel.listen(listener->get(), options.backlog);
    if (listening < 0) return fail(failed("listen on", address, listening));
    return listener;
}

Result<std::vector<core::Descriptor>> share_listener(core::Kernel& kernel, core::Descriptor bound,
                                                     std::size_t count, int backlog) {
    const core::Address at = local_address(kernel, bound);
    const ListenOptions shared{.backlog = backlog, .reuse_port = true};
    std::vector<core::Descriptor> all;
#if defined(__linux__)
    // The first socket listens without sharing its port, which fails if another server listens
    // there; with sharing, two servers would divide the clients between them unnoticed. Linux lets
    // the socket join the others afterwards.
    if (auto listening = start_listening(kernel, bound, backlog); !listening) {
        return fail(listening.error());
    }
    if (count > 1) set_flag(kernel, bound.get(), SOL_SOCKET, share_port, 1);
    all.push_back(std::move(bound));
#else
    // Elsewhere a socket shares from its bind() on, or never.
    bound.reset();
#endif
    while (all.size() < count) {
        auto another = open_listener(kernel, at, shared);
        if (!another) return fail(another.error());
        all.push_back(std::move(*another));
    }
    return all;
}

std::vector<core::Descriptor> inherited_listeners(core::Kernel& kernel) {
    constexpr int first = 3;  // behind standard error
    const auto number_in = [](const char* name) {
        const char* const text = std::getenv(name);
        return text != nullptr ? parse_number<int>(text).value_or(0) : 0;
    };
    // A child of a process that has some inherits the variables, and not the sockets.
    const int count = number_in("LISTEN_PID") == ::getpid() ? number_in("LISTEN_FDS") : 0;
    for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
    std::vector<core::Descriptor> all;
    for (int fd = first; fd < first + std::min(count, 1'000); ++fd) {
        const int flags = ::fcntl(fd, F_GETFL);
        if (flags < 0) continue;
        ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        core::Descriptor& taken = all.emplace_back(kernel, fd);
#if defined(SO_LOCK_FILTER)
        // What Acceptor::stop() attaches would outlive us: the next server has the same socket.
        set_flag(kernel, taken.get(), SOL_SOCKET, SO_LOCK_FILTER, 1);
#endif
        set_flag(kernel, taken.get(), IPPROTO_TCP, TCP_NODELAY, 1);  // of a Unix socket: refused
    }
    return all;
}

core::Address local_address(core::Kernel& kernel, const core::Descriptor& listener) {
    sockaddr_storage storage{};
    socklen_t bytes = sizeof storage;
    kernel.local_address(listener.get(), reinterpret_cast<sockaddr*>(&storage), &bytes);
    auto address = core::Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage), bytes);
    return address ? *address : core::Address{};
}

}  // namespace tiderace::net

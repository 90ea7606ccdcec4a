#include "server/listening_sockets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/net/listener.h"

namespace tiderace::server {
namespace {

constexpr std::uint16_t ports_tried_max = 20;

// [::] is opened for IPv4 too; no other IPv6 address is.
bool covers(const core::Address& all, const core::Address& address) {
    using Family = core::Address::Family;
    return all.is_any() && (all.family() == Family::ip6 || address.family() == Family::ip4);
}

bool overlap(const core::Address& a, const core::Address& b) {
    if (a.is_unix() || b.is_unix()) return a == b;
    return a.port() == b.port() && (a == b || covers(a, b) || covers(b, a));
}

}  // namespace

Result<ListeningSockets> ListeningSockets::open(const ServeOptions& options) {
    ListeningSockets sockets;
    if (auto opened = sockets.open_all(options); !opened) {
        // Removes the sockets before the failed one: a client would take a name without a server
        // for one.
        sockets.remove_files();
        return fail(opened.error());
    }
    return sockets;
}

Result<> ListeningSockets::open_all(const ServeOptions& options) {
    for (const std::string& text : options.listen) {
        if (auto opened = open_one(options, text, Purpose::site); !opened) return opened;
    }
    for (const std::string& text : options.tls.https_redirect) {
        if (auto opened = open_one(options, text, Purpose::redirect); !opened) return opened;
    }
    return {};
}

// Opened without SO_REUSEPORT, so that a port somebody else serves is an error and not half of
// their traffic.
Result<> ListeningSockets::open_one(const ServeOptions& options, const std::string& text,
                                    Purpose purpose) {
    auto address = core::Address::parse(text);
    if (!address) return fail(address.error());
    core::Kernel& kernel = core::system_kernel();
    // Sockets that are bound only share an address: our own two would be noticed late.
    if (const Socket* ours = who_listens_at(*address)) {
        return fail(Error(EADDRINUSE, "listen on", text,
                          ours->flag + " listens there already; leave one of the two out"));
    }
    const bool may_move = options.listen_is_default && purpose == Purpose::site;
    const net::ListenOptions plain{
        .backlog = static_cast<int>(options.backlog),
        // A default port moves to the next one at once instead.
        .in_use_retry = may_move ? Duration{} : net::ServingDefaults::in_use_retry};
    auto listener = net::bind_listener(kernel, *address, plain);
    const std::uint16_t wanted = address->port();
    // The user has not chosen a default port, so the next free one serves as well. A port that was
    // chosen is served, or the start fails: a proxy in front knows only that one.
    for (std::uint16_t i = 1;
         i < ports_tried_max && !listener && may_move && listener.error().code() == EADDRINUSE;
         ++i) {
        *address = address->with_port(static_cast<std::uint16_t>(wanted + i));
        listener = net::bind_listener(kernel, *address, plain);
        if (listener) port_fallback_ = PortFallback{wanted, address->port()};
    }
    if (!listener) return fail(listener.error());
    // Asked of the kernel, which has chosen the port where 0 was given.
    core::Address bound = address->is_unix() ? *address : net::local_address(kernel, *listener);
    (purpose == Purpose::site ? addresses_ : redirecting_).push_back(bound);
    if (bound.is_unix()) {
        // Remembered by its number, not by its name alone: see remove_files().
        const std::string path(bound.path());
        struct stat made;
        if (::lstat(path.c_str(), &made) == 0) files_.push_back({path, made.st_dev, made.st_ino});
    }
    const std::string flag = purpose == Purpose::site ? "--listen " : "--https-redirect ";
    const bool moved = address->port() != wanted;
    sockets_.push_back({std::move(*listener), std::move(bound), purpose,
                        flag + (moved ? address->to_string() : text)});
    return {};
}

const ListeningSockets::Socket* ListeningSockets::who_listens_at(
    const core::Address& address) const {
    for (const Socket& socket : sockets_) {
        if (overlap(socket.bound, address)) return &socket;
    }
    if (!address.is_unix()) return nullptr;
    // One file has many spellings: "a.sock", "./a.sock", a link.
    struct stat there;
    if (::stat(std::string(address.path()).c_str(), &there) != 0) return nullptr;
    const auto same = std::ranges::find_if(files_, [&](const File& file) {
        return file.device == there.st_dev && file.inode == there.st_ino;
    });
    if (same == files_.end()) return nullptr;
    const auto socket = std::ranges::find_if(sockets_, [&](const Socket& each) {
        return each.bound.is_unix() && each.bound.path() == same->path;
    });
    return socket != sockets_.end() ? &*socket : nullptr;
}

void ListeningSockets::remove_files(RootFiles* root) {
    for (const File& file : std::exchange(files_, {})) {
        struct stat now;
        const bool seen = ::lstat(file.path.c_str(), &now) == 0;
        // Another server has replaced our socket meanwhile: that one stays.
        if (seen && (now.st_dev != file.device || now.st_ino != file.inode)) continue;
        // The file was made as root, in a folder such as /run that the server's user may not
        // change, nor perhaps enter, so that it may be there though it was not seen.
        if ((seen && ::unlink(file.path.c_str()) == 0) || root == nullptr) continue;
        root->remove(file.path, file.device, file.inode);
    }
}

}  // namespace tiderace::server

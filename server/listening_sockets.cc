#include "server/listening_sockets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tiderace/net/listener.h"

namespace tiderace::server {
namespace {

constexpr std::uint16_t ports_tried_max = 20;

}  // namespace

Result<ListeningSockets> ListeningSockets::open(const ServeOptions& options) {
    ListeningSockets sockets;
    for (const std::string& text : options.listen) {
        if (auto opened = sockets.open_one(options, text, Door::site); !opened) {
            return fail(opened.error());
        }
    }
    for (const std::string& text : options.tls.https_redirect) {
        if (auto opened = sockets.open_one(options, text, Door::redirect); !opened) {
            return fail(opened.error());
        }
    }
    return sockets;
}

// Opened without SO_REUSEPORT, so that a port somebody else serves is an error and not half of
// their traffic.
Result<> ListeningSockets::open_one(const ServeOptions& options, const std::string& text,
                                    Door door) {
    auto address = core::Address::parse(text);
    if (!address) return fail(address.error());
    core::Kernel& kernel = core::system_kernel();
    const net::ListenOptions plain{.backlog = static_cast<int>(options.backlog)};
    auto listener = net::open_listener(kernel, *address, plain);
    const bool may_move = options.listen_is_default && door == Door::site;
    const std::uint16_t wanted = address->port();
    for (std::uint16_t i = 1;
         i < ports_tried_max && !listener && may_move && listener.error().code() == EADDRINUSE;
         ++i) {
        *address = address->with_port(static_cast<std::uint16_t>(wanted + i));
        listener = net::open_listener(kernel, *address, plain);
        if (listener) port_fallback_ = PortFallback{wanted, address->port()};
    }
    if (!listener) return fail(listener.error());
    core::Address bound = address->is_unix() ? *address : net::local_address(kernel, *listener);
    (door == Door::site ? addresses_ : redirecting_).push_back(bound);
    if (bound.is_unix()) {
        const std::string path(bound.path());
        struct stat made;
        if (::lstat(path.c_str(), &made) == 0) files_.push_back({path, made.st_dev, made.st_ino});
    }
    sockets_.push_back({std::move(*listener), std::move(bound), door});
    return {};
}

void ListeningSockets::remove_files() const {
    for (const File& file : files_) {
        struct stat now;
        if (::lstat(file.path.c_str(), &now) != 0) continue;
        if (now.st_dev == file.device && now.st_ino == file.inode) ::unlink(file.path.c_str());
    }
}

}  // namespace tiderace::server

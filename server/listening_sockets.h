// ListeningSockets: the sockets that the options ask for, bound, and where they are. Made before
// anything else, so that a port in use is said at once, and before there is more than one process.
// They let nobody in: Listening does, when all is there to serve.
//
// Owner    serve(). The descriptors go to Listening; the addresses stay.
// Thread   The main thread.
// Errors   An address that cannot be had: which, why, what to do; whether it is another program's,
//          or asked for twice. Port 8080, if it was only a default, gives way to the next free one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "server/banner.h"
#include "server/options.h"
#include "server/root_files.h"
#include "tiderace/core/address.h"
#include "tiderace/core/kernel.h"

namespace tiderace::server {

class ListeningSockets {
  public:
    // Whether it leads to the site, or only to the encrypted port.
    enum class Door : std::uint8_t { site, redirect };
    struct Socket {
        core::Descriptor listener;
        core::Address bound;
        Door door;
        std::string flag;  // that asked for it, as it was said: "--listen :8080"
    };

    static Result<ListeningSockets> open(const ServeOptions& options);

    // As bound: port 0 is the port that the kernel chose.
    const std::vector<core::Address>& addresses() const { return addresses_; }
    const std::vector<core::Address>& redirecting() const { return redirecting_; }
    const std::optional<PortFallback>& port_fallback() const { return port_fallback_; }

    // In the order of the options; once.
    std::vector<Socket> take() { return std::move(sockets_); }
    // In a process that does not serve itself.
    void close() { sockets_.clear(); }
    // The names of Unix sockets, gone before the sockets are closed. A name that has become another
    // socket's meanwhile, such as that of the server which takes over, stays. `root` removes those
    // that this process may not.
    void remove_files(RootFiles* root = nullptr) const;

  private:
    struct File {
        std::string path;
        dev_t device;
        ino_t inode;
    };

    Result<> open_one(const ServeOptions& options, const std::string& text, Door door);
    const Socket* who_listens_at(const core::Address& address) const;

    std::vector<Socket> sockets_;
    std::vector<core::Address> addresses_;
    std::vector<core::Address> redirecting_;
    std::vector<File> files_;
    std::optional<PortFallback> port_fallback_;
};

}  // namespace tiderace::server

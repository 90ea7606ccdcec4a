// ListeningSockets: the sockets that the options name, bound, and their addresses. Opened before
// anything else, so that a port in use is reported at once, and before there is more than one
// process. They accept nothing yet: Listening does, once the server is complete.
//
// Owner    serve(). The descriptors go to Listening; the addresses stay.
// Thread   The main thread.
// Errors   An address that is not available: which, why, what to do; whether another program has
//          it, or it is given twice. Port 8080, if it was only a default, gives way to the next
//          free one.
// Keywords: bind, SO_REUSEPORT, Unix socket
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
    enum class Purpose : std::uint8_t { site, redirect };
    struct Socket {
        core::Descriptor listener;
        core::Address bound;
        Purpose purpose;
        std::string flag;  // as the user typed it: "--listen :8080"
    };

    // Where one fails, no name of a Unix socket is left behind.
    static Result<ListeningSockets> open(const ServeOptions& options);

    // As bound: port 0 is the port that the kernel chose.
    const std::vector<core::Address>& addresses() const { return addresses_; }
    const std::vector<core::Address>& redirecting() const { return redirecting_; }
    const std::optional<PortFallback>& port_fallback() const { return port_fallback_; }

    // In the order of the options; once.
    std::vector<Socket> take() { return std::move(sockets_); }
    // In a process that does not serve itself.
    void close() { sockets_.clear(); }
    // Removes the names of the Unix sockets before the sockets are closed. A name that now belongs
    // to another socket, such as the socket of the next server, stays. `root` removes the
    // names that this process lacks the rights for. Once: the number of a socket that is closed may
    // become another server's.
    void remove_files(RootFiles* root = nullptr);

  private:
    struct File {
        std::string path;
        dev_t device;
        ino_t inode;
    };

    Result<> open_all(const ServeOptions& options);
    Result<> open_one(const ServeOptions& options, const std::string& text, Purpose purpose);
    const Socket* who_listens_at(const core::Address& address) const;

    std::vector<Socket> sockets_;
    std::vector<core::Address> addresses_;
    std::vector<core::Address> redirecting_;
    std::vector<File> files_;
    std::optional<PortFallback> port_fallback_;
};

}  // namespace tiderace::server

#include "tiderace/core/peer_address.h"

#include <sys/un.h>

#include <cstddef>
#include <new>

namespace tiderace::core {

Address peer_address(const sockaddr* from, socklen_t bytes) noexcept {
    if (bytes < offsetof(sockaddr, sa_data)) return {};
    try {
        return Address::from_sockaddr(from, bytes).value_or(Address{});
    } catch (const std::bad_alloc&) {
        // Not IPv4 or IPv6, which do not allocate. A Unix address without a path does not either.
        if (from->sa_family != AF_UNIX) return {};
        return *Address::from_sockaddr(from, offsetof(sockaddr_un, sun_path));
    }
}

}  // namespace tiderace::core

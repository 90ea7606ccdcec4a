#include "tiderace/tls/kernel_tls.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace tiderace::tls {

#if defined(TCP_ULP)

KernelTls find_kernel_tls(core::Kernel& kernel) {
    const int socket = kernel.open_socket(AF_INET, SOCK_STREAM, 0);
    if (socket < 0) return KernelTls::refused;
    const std::array<char, 3> name{'t', 'l', 's'};
    const int asked = kernel.set_option(socket, IPPROTO_TCP, TCP_ULP, name.data(), name.size());
    kernel.close(socket);
    // The socket is not connected: a kernel that has kTLS objects to that only.
    if (asked == 0 || asked == -ENOTCONN) return KernelTls::present;
    // ENOENT: the module cannot be loaded. ENOPROTOOPT: a kernel before TCP_ULP. Others, such as
    // EPERM in a container, decide nothing.
    return asked == -ENOENT || asked == -ENOPROTOOPT ? KernelTls::absent : KernelTls::refused;
}

#else

KernelTls find_kernel_tls(core::Kernel&) {
    return KernelTls::foreign;
}

#endif

std::string_view to_string(KernelTls found) {
    switch (found) {
        case KernelTls::present:
            return "no (the kernel has it, it is not used)";
        case KernelTls::absent:
            return "no (the kernel has no tls module)";
        case KernelTls::refused:
            return "no (the kernel does not say whether it has it)";
        case KernelTls::foreign:
            break;
    }
    return "no (not on this system)";
}

}  // namespace tiderace::tls

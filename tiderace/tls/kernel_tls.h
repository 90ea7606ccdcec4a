// kernel_tls: whether this kernel can seal the records of TLS by itself (kTLS). This is reported,
// not used: docs/decisions/0008-ktls-is-told-not-used.md.
//
// Thread   Any; opens a socket for a moment.
#pragma once

#include <cstdint>
#include <string_view>

#include "tiderace/core/kernel.h"

namespace tiderace::tls {

enum class KernelTls : std::uint8_t {
    present,
    absent,   // the kernel was built without, or may not load it
    refused,  // it may be there; this process may not ask
    foreign,  // not Linux: kTLS is another thing there, and nothing asks for it
};

// Sets the protocol "tls" on a TCP socket, which loads the module if that is allowed.
KernelTls find_kernel_tls(core::Kernel& kernel);

// "no (the kernel has no tls module)"
std::string_view to_string(KernelTls found);

}  // namespace tiderace::tls

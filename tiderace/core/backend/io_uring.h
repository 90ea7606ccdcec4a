// The io_uring engine: completions instead of readiness. Linux 6.1 and newer.
//
//   accept   one multishot operation: every connection is a completion, no call
//   receive  one multishot operation a connection, into a ring of buffers that all share: an idle
//            connection holds none
//   send     few answers in a turn: by system call at once (direct_send.h). Many: the small ones
//            as operations (ring_sends.h), handed over together with the next wait; files and
//            large ones by call. A socket that is full waits by a poll operation
//   the rest connect and foreign descriptors wait by poll operations
//
// The operations of a turn go to the kernel in the one call with which it waits. The ring belongs
// to the thread of the first turn (single issuer, deferred task work).
//
// Errors   make_io_uring_backend fails where the kernel has no io_uring, or forbids it.
// Memory   16 bytes a descriptor number, buffers of receive_ring_bytes, rings of about 250 KiB, and
//          ring_sends_bytes_max once many answers left together.
// Keywords: io_uring, completion, liburing
#pragma once

#include <memory>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/core/backend.h"

namespace tiderace::core {

inline constexpr std::size_t receive_ring_bytes = 2_MiB;

// Whether this kernel lets this process have one. Asked once.
bool has_io_uring();

Result<std::unique_ptr<Backend>> make_io_uring_backend(const BackendOptions& options);

}  // namespace tiderace::core

// The io_uring engine: completions instead of readiness. Linux 6.1 and newer.
//
//   accept   one multishot operation: every connection is a completion, no call
//   receive  one multishot operation a connection, into a ring of buffers that all share: an idle
//            connection holds none
//   send     by system call at once (direct_send.h): a socket with room takes an answer in the
//            call; only one that is full waits, by a poll operation
//   the rest connect and foreign descriptors wait by poll operations
//
// What a turn asks for goes to the kernel in the one call with which it waits. The ring belongs to
// the thread of the first turn (single issuer, deferred task work).
//
// Errors   make_io_uring_backend fails where the kernel has no io_uring, or forbids it.
// Memory   16 bytes a descriptor number, buffers of receive_ring_bytes, rings of about 250 KiB.
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

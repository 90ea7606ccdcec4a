// The engines `asio-per-thread` and `asio-shared`: standalone Asio's io_context under the unchanged
// EventLoop, net and http.
//
//   asio-per-thread   an io_context for each thread, and a loop in it
//   asio-shared       one io_context that all threads run; each loop's handlers share a strand,
//                     so a loop is one thread's at a time, and another's the next time;
//                     one acceptor deals the connections to the strands in turn
//
//   receive  async_read_some into a buffer of the connection's own
//   send     async_send of the pieces; a file by sendfile, and async_wait where there is no room
//   a turn   what completed is noted, and a handler behind those turns the EventLoop once
//
// Where there is no Asio, asio_absent.cc stands in for it.
//
// Owner    As core::Backend; the io_context lives until the last backend in it has gone.
// Thread   A backend's calls are its strand's, or its one thread's; wake() is any thread's.
// Memory   read_bytes and some 300 more for each connection, idle or not.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "lab/engine/threading_model.h"
#include "tiderace/core/backend.h"

namespace tiderace::lab::engine {

// Why they cannot be had here; "" where they can.
std::string_view asio_absent();
// A backend with an io_context of its own, which wait() runs: for callers that turn the loop.
Result<std::unique_ptr<core::Backend>> make_asio_backend(const core::BackendOptions& options);
std::unique_ptr<ThreadingModel> arrange_asio_per_thread();
std::unique_ptr<ThreadingModel> arrange_asio_shared();

}  // namespace tiderace::lab::engine

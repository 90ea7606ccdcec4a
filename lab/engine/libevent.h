// The engine `libevent`: one event_base for each thread, a bufferevent for each connection.
//
//   receive  the bufferevent's input, a view of its first piece at a time
//   send     small pieces are copied into its output, large ones referenced, files are segments of
//            it (sendfile); libevent writes when epoll next reports room
//   rest     listeners, connects, foreign descriptors and the wake-up are plain events
//
// Above it are the unchanged EventLoop, net and http. Where there is no libevent,
// libevent_absent.cc stands in for it.
//
// Owner, Thread, Errors   As core::Backend. libevent works without locks here: wake() writes to an
//          eventfd.
// Memory   A bufferevent and its two buffers for each connection, idle or not: some 700 bytes.
#pragma once

#include <memory>
#include <string_view>

#include "lab/engine/threading_model.h"
#include "tiderace/core/backend.h"

namespace tiderace::lab::engine {

// Why it cannot be had here; "" where it can.
std::string_view libevent_absent();
Result<std::unique_ptr<core::Backend>> make_libevent_backend(const core::BackendOptions& options);
std::unique_ptr<ThreadingModel> arrange_libevent();

}  // namespace tiderace::lab::engine

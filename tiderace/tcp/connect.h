// connect: from "example.org:7" to a Stream on the loop of the task that awaits it.
//
//   auto stream = co_await tcp::connect("example.org:7", {.attempts = 3});
//   if (!stream) co_return fail(stream.error());
//   co_await stream->write("hello\n");
//
// Both address families race, 250 ms apart (dial.h). With ConnectOptions::security it returns when
// the TLS handshake is done and the certificate is verified.
//
// Owner    The caller owns the stream; the loop's Runner the connection behind it.
// Thread   The loop's. Cancelling the task closes what was begun.
// Errors   As dial(); a handshake that fails names the host.
// Limits   ConnectOptions; net::ConnectionLimits, as they stand.
#pragma once

#include <string_view>

#include "tiderace/base/result.h"
#include "tiderace/task/task.h"
#include "tiderace/tcp/dial.h"
#include "tiderace/tcp/stream.h"

namespace tiderace::tcp {

task::Task<Result<Stream>> connect(std::string_view to, const ConnectOptions& options = {},
                                   const StreamOptions& stream = {});

}  // namespace tiderace::tcp

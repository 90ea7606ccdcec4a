// Internal. dial: from "example.org:443" to an open transport on the loop of the task that awaits
// it.
//
//   auto made = co_await tcp::dial("example.org:443", {.attempts = 3});
//   if (!made) co_return fail(made.error());
//   Connection& connection = connections.emplace(owner, std::move(made->transport), made->peer);
//
//   name -> addresses (core::Resolver) -> one attempt every 250 ms, or as soon as one fails,
//   families in turn (RFC 8305, "happy eyeballs") -> the first that opens; the others are closed
//
// tcp::connect (connect.h) makes a Stream of it. dial is for code with connections of its own, such
// as a client with a pool.
//
// Owner    The caller owns the transport, and keeps `layer` for as long as the transport lives.
// Thread   The loop's. Cancelling the task withdraws the lookup and closes what was begun.
// Errors   A Result that names the host and the address. The deadline of the task
//          (task::deadline()) and the options' timeout end an attempt as ETIMEDOUT.
// Limits   ConnectOptions; core::ResolverOptions for names (task::Lookup).
// Keywords: DNS, Happy Eyeballs
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/core/resolver.h"
#include "tiderace/net/transport.h"
#include "tiderace/task/task.h"
#include "tiderace/tcp/security.h"

namespace tiderace::tcp {

struct ConnectOptions {
    Duration timeout = 10s;    // for one attempt, from the name to the secured connection
    unsigned attempts = 1;     // in all, each after a pause that doubles and is a little random
    Duration pause = 100ms;    // before the second attempt
    Duration pause_max = 10s;  // the longest
    Duration stagger = 250ms;  // until the next address is tried beside this one
    const ClientSecurity* security = nullptr;  // TLS; nullptr: in clear text
};
// g++ 12 would destroy a temporary one inside co_await twice (task.h).
static_assert(std::is_trivially_destructible_v<ConnectOptions>);

struct Dialed {
    std::shared_ptr<ClientLayer> layer;  // with security; it outlives `transport`
    std::unique_ptr<net::Transport> transport;
    core::Address peer;
    Instant until = Instant::max();  // the attempt's deadline, which also holds for a handshake
};

task::Task<Result<Dialed>> dial(std::string_view to, const ConnectOptions& options = {});

}  // namespace tiderace::tcp

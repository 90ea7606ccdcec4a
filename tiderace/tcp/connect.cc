#include "tiderace/tcp/connect.h"

#include <cerrno>
#include <string>
#include <utility>

#include "tiderace/task/within.h"
#include "tiderace/tcp/outgoing.h"

namespace tiderace::tcp {
namespace {

task::Task<Result<Stream>> connect_to(std::string to, ConnectOptions options,
                                      StreamOptions stream_options) {
    Result<Dialed> made = co_await dial(to, options);
    if (!made) co_return fail(made.error());
    const Instant until = made->until;
    // A connection may outlive its stream, to send the rest, so the loop owns it.
    Outgoing& outgoing = task::Context::here().runner->local<Outgoing>();
    Stream stream(outgoing.add(std::move(*made)), stream_options);
    if (options.security != nullptr) {
        // The handshake has a time-out of its own in the transport; this one is the caller's, of
        // which the connection took a part.
        const Duration left = until - task::Context::here().runner->loop().now();
        const auto failure = co_await task::within(left, until_secured(stream.state()));
        if (!failure || !failure->empty()) {
            stream.abort();
            co_return fail(
                Error(failure ? EPROTO : ETIMEDOUT, "secure the connection to", to,
                      failure ? *failure : "the TLS handshake failed: it took too long"));
        }
    }
    co_return stream;
}

}  // namespace

task::Task<Result<Stream>> connect(std::string_view to, const ConnectOptions& options,
                                   const StreamOptions& stream) {
    return connect_to(std::string(to), options, stream);
}

}  // namespace tiderace::tcp

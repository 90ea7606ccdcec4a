#include "tiderace/tcp/connect.h"

#include <cerrno>
#include <string>
#include <utility>

#include "tiderace/base/slot_map.h"
#include "tiderace/net/connection.h"
#include "tiderace/task/within.h"

namespace tiderace::tcp {
namespace {

// The connections that the tasks of one loop opened.
class Outgoing final : private net::Connection::Owner {
  public:
    explicit Outgoing(task::Runner& runner) : loop_(&runner.loop()) {}
    // Their streams ended with their tasks; connections that remain are still sending.
    ~Outgoing() {
        loop_->assert_on_loop();
        while (connections_.size() > 0) {
            connections_.for_each([](SlotId, Line& line) {
                line.connection.loop().assert_on_loop();
                line.connection.close(net::CloseReason::server_stopped);
            });
            // A closed connection is destroyed at the end of a turn.
            loop_->turn(Duration::zero());
        }
    }

    net::Connection& add(Dialed&& made) {
        return connections_.emplace(*this, std::move(made)).connection;
    }

  private:
    struct Line {
        Line(SlotId id, Outgoing& owner, Dialed&& made)
            : layer(std::move(made.layer)),
              connection(id, owner, std::move(made.transport), std::move(made.peer)) {}
        std::shared_ptr<ClientLayer> layer;  // ends after the transport that it wrapped
        net::Connection connection;
    };

    core::EventLoop& loop() override { return *loop_; }
    const net::ConnectionLimits& limits() const override { return limits_; }
    void release(net::Connection& connection, net::CloseReason) override {
        connections_.erase(connection.id());
    }

    core::EventLoop* loop_;
    net::ConnectionLimits limits_;
    SlotMap<Line> connections_;
};

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

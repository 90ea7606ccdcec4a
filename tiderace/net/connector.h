// Internal. Connector: connections that we open, on one loop.
//
//   connector.connect(address, [](Result<Connection*> made) {
//       if (made) (*made)->start(session);
//   });
//
// Owner    Its creator, on the loop's thread; it must outlive the loop's last turn. It owns the
//          connections it makes.
// Thread   Its loop's.
// Errors   A failure is a Result that names the address, reported once in a later turn.
// Limits   ConnectorOptions.
// Memory   As TcpServer, and about 200 bytes for each attempt.
// Keywords: connect, connect time-out
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/slot_map.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/net/connection.h"

namespace tiderace::net {

struct ConnectorOptions {
    ConnectionLimits connection;
    Duration timeout = 10s;                // for the peer to answer
    std::size_t connections_max = 10'000;  // attempts among them
};

// What to do about an error of connect(); "" where nothing is known.
std::string_view advice_for_connecting(int error);

// Where to, and how the socket is made.
struct Route {
    core::Address to;
    // The address that the peer sees us come from; each one has its own 28,000 ports to a server.
    std::optional<core::Address> from = std::nullopt;  // none: the kernel's choice
    int receive_buffer_bytes = 0;                      // of the kernel's; 0: its own choice
};

class Connector final : private Connection::Owner {
  public:
    // The receiver starts the connection with its Session before it returns.
    using Done = unique_function<void(Result<Connection*>)>;

    Connector(core::EventLoop& loop, ConnectorOptions options);
    // Closes all; attempts end without a call of `done`.
    ~Connector();

    // `layer` wraps the transport: TLS. It outlives the connection.
    void connect(const Route& route, Done done, TransportLayer* layer = nullptr);
    void connect(const core::Address& to, Done done, TransportLayer* layer = nullptr) {
        connect(Route{.to = to}, std::move(done), layer);
    }
    void abort_all();

    Connection* find(ConnectionId id) { return connections_.find(id); }
    std::size_t size() const { return connections_.size() + attempts_.size(); }

  private:
    class Attempt;

    core::EventLoop& loop() override { return *loop_; }
    const ConnectionLimits& limits() const override { return options_.connection; }
    void release(Connection& connection, CloseReason) override {
        connections_.erase(connection.id());
    }
    void finish(Attempt& attempt);

    core::EventLoop* loop_;
    ConnectorOptions options_;
    SlotMap<Connection> connections_;
    std::vector<std::unique_ptr<Attempt>> attempts_;
};

}  // namespace tiderace::net

#include "tiderace/net/tcp_server.h"

#include <new>
#include <utility>

#include "tiderace/net/tcp_transport.h"

namespace tiderace::net {

class TcpServer::DrainTimer final : public core::Timer {
  public:
    explicit DrainTimer(TcpServer& server) : server_(&server) {}

  private:
    void on_expired() TR_ON_LOOP override { server_->abort_all(); }

    TcpServer* server_;
};

// One listening socket, and the layer that its connections go through.
class TcpServer::Door final : private Acceptor::Receiver {
  public:
    Door(TcpServer& server, core::Descriptor listener, TransportLayer* layer)
        : server_(&server), layer_(layer), acceptor_(*server.loop_, std::move(listener), *this) {
        acceptor_.start();
    }
    void stop() TR_ON_LOOP { acceptor_.stop(); }

  private:
    void on_connection(int fd, const core::Address& peer) TR_ON_LOOP override {
        server_->adopt(fd, peer, layer_);
    }

    TcpServer* server_;
    TransportLayer* layer_;
    Acceptor acceptor_;
};

TcpServer::TcpServer(core::EventLoop& loop, SessionFactory& sessions, TcpServerOptions options)
    : loop_(&loop), sessions_(&sessions), options_(std::move(options)) {
    loop.send_relief().add(*this);
}

TcpServer::~TcpServer() {
    doors_.clear();
    drained_ = {};
    // Every session gets its on_close, so nothing of theirs leaks.
    abort_all();
    while (connections_.size() > 0) loop_->turn(Duration::zero());
}

void TcpServer::listen(core::Descriptor listener, TransportLayer* layer) {
    loop_->assert_on_loop();
    doors_.push_back(std::make_unique<Door>(*this, std::move(listener), layer));
}

void TcpServer::adopt(int fd, const core::Address& peer, TransportLayer* layer) {
    if (connections_.size() >= options_.connections_max || draining_) {
        refuse(fd, layer);
        return;
    }
    std::unique_ptr<Transport> transport = make_transport(fd, layer);
    if (transport != nullptr) adopt(std::move(transport), peer);
}

// nullptr: it is closed, for lack of room in the engine or of memory. The others go on.
std::unique_ptr<Transport> TcpServer::make_transport(int fd, TransportLayer* layer) {
    std::unique_ptr<TcpTransport> socket;
    try {
        socket = std::make_unique<TcpTransport>(*loop_, fd);
    } catch (const std::bad_alloc&) {
        loop_->kernel().close(fd);
    }
    if (socket == nullptr || !socket->attached()) return nullptr;
    if (layer == nullptr) return socket;
    try {
        return layer->wrap(std::move(socket));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

Connection* TcpServer::adopt(std::unique_ptr<Transport> transport, const core::Address& peer) {
    loop_->assert_on_loop();
    Connection* connection = nullptr;
    Session* session = nullptr;
    try {
        connection = &connections_.emplace(static_cast<Connection::Owner&>(*this),
                                           std::move(transport), peer);
        ++counters_.opened;
        session = &sessions_->make_session(*connection);
        connection->start(*session);
    } catch (const std::bad_alloc&) {
        // As above. A session that knows the connection is told of its end, later in this turn.
        if (session != nullptr) {
            connection->abort();
        } else if (connection != nullptr) {
            release(*connection, CloseReason::aborted);
        }
        return nullptr;
    }
    return connection;
}

void TcpServer::refuse(int fd, const TransportLayer* layer) {
    ++counters_.refused;
    const ByteView words = layer == nullptr ? ByteView(options_.refusal) : ByteView();
    refuse_connection(loop_->kernel(), fd, words);
}

void TcpServer::release(Connection& connection, CloseReason reason) {
    ++counters_.closed[static_cast<std::size_t>(reason)];
    connections_.erase(connection.id());
    finish_drain_if_empty();
}

void TcpServer::drain(Instant deadline, unique_function<void()> done) {
    loop_->assert_on_loop();
    drained_ = std::move(done);
    // Connections that wait in the kernel's queue have been promised service: take them first.
    for (auto& door : doors_) door->stop();
    draining_ = true;
    connections_.for_each([](ConnectionId, Connection& connection) {
        connection.loop().assert_on_loop();
        if (!connection.closing()) connection.drain();
    });
    if (connections_.size() > 0) {
        drain_timer_ = std::make_unique<DrainTimer>(*this);
        loop_->arm(*drain_timer_, deadline);
    }
    finish_drain_if_empty();
}

void TcpServer::finish_drain_if_empty() {
    if (draining_ && connections_.size() == 0 && drained_) std::exchange(drained_, {})();
}

std::vector<core::SendHolder::Holding> TcpServer::holdings() {
    std::vector<Holding> all;
    connections_.for_each([&](ConnectionId id, Connection& connection) {
        if (connection.closing()) return;
        const std::uint64_t packed = std::uint64_t{id.slot} << 32 | id.generation;
        all.push_back({.bytes = connection.held_bytes(), .id = packed});
    });
    return all;
}

void TcpServer::give_up(std::uint64_t id) {
    Connection* const largest =
        find({static_cast<std::uint32_t>(id >> 32), static_cast<std::uint32_t>(id)});
    if (largest != nullptr) largest->abort(CloseReason::send_memory_full);
}

void TcpServer::abort_all() {
    connections_.for_each([](ConnectionId, Connection& connection) {
        connection.loop().assert_on_loop();
        connection.abort(CloseReason::server_stopped);
    });
}

}  // namespace tiderace::net

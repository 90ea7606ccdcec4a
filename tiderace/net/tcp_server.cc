#include "tiderace/net/tcp_server.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"
#include "tiderace/net/tcp_transport.h"

namespace tiderace::net {

namespace {

// Looking at all connections for each newcomer of a flood would help the flood. Its senders are
// few, and others must not wait with them.
constexpr std::size_t turned_away_max = 4;

}  // namespace

class TcpServer::DrainTimer final : public core::Timer {
  public:
    explicit DrainTimer(TcpServer& server) : server_(&server) {}

  private:
    void on_expired() TR_ON_LOOP override { server_->abort_all(); }

    TcpServer* server_;
};

// One listening socket, and the layer that its connections go through.
class TcpServer::Entrance final : private Acceptor::Receiver, private core::Timer {
  public:
    Entrance(TcpServer& server, core::Descriptor listener, TransportLayer* layer,
             std::uint64_t name)
        : server_(&server),
          layer_(layer),
          name_(name),
          acceptor_(*server.loop_, std::move(listener), *this) {
        acceptor_.start();
    }
    ~Entrance() { server_->loop_->cancel(*this); }

    std::uint64_t name() const { return name_; }
    bool is_closed() const { return is_closed_; }
    void stop() TR_ON_LOOP {
        acceptor_.stop();
        is_closed_ = true;
    }
    void stop_soon() TR_ON_LOOP {
        acceptor_.turn_newcomers_away();
        server_->loop_->arm(*this, server_->loop_->now() + handshakes_end);
    }
    void set_backlog(int backlog) TR_ON_LOOP { acceptor_.set_backlog(backlog); }

  private:
    void on_connection(int fd, const core::Address& peer) TR_ON_LOOP override {
        server_->adopt(fd, peer, layer_);
    }
    void on_expired() TR_ON_LOOP override { stop(); }

    // Round trips of most clients.
    static constexpr Duration handshakes_end = 100ms;

    TcpServer* server_;
    TransportLayer* layer_;
    std::uint64_t name_;
    bool is_closed_ = false;
    Acceptor acceptor_;
};

TcpServer::TcpServer(core::EventLoop& loop, SessionFactory& sessions, TcpServerOptions options)
    : loop_(&loop), sessions_(&sessions), options_(std::move(options)) {
    // When unsent bytes run over their limit, the loop gets the largest holders of all servers.
    loop.send_eviction().add(*this);
}

TcpServer::~TcpServer() {
    // No new connection may come while the others end.
    entrances_.clear();
    drained_ = {};
    // Every session gets its on_close, so that none of them leaks.
    abort_all();
    // A connection is destroyed at the end of a turn only, so the loop is turned here, by the
    // thread that tears down.
    while (connections_.size() > 0) loop_->turn(Duration::zero());
}

void TcpServer::listen(core::Descriptor listener, TransportLayer* layer, std::uint64_t name) {
    loop_->assert_on_loop();
    entrances_.push_back(std::make_unique<Entrance>(*this, std::move(listener), layer, name));
}

void TcpServer::stop_listening(std::uint64_t name) {
    loop_->assert_on_loop();
    std::erase_if(entrances_, [](const auto& each) { return each->is_closed(); });
    for (const auto& each : entrances_) {
        if (each->name() == name) each->stop_soon();
    }
}

void TcpServer::change(const ConnectionLimits& limits, int backlog, std::size_t connections_max) {
    loop_->assert_on_loop();
    options_.connection = limits;
    options_.connections_max = connections_max;
    for (const auto& each : entrances_) each->set_backlog(backlog);
}

void TcpServer::adopt(int fd, const core::Address& peer, TransportLayer* layer) {
    // Also while draining: another loop may have handed it over before it learned of the end
    // (HandOff).
    if (draining_) return refuse(fd, layer);
    if (!enter()) {
        bool has_room = false;
        core::contain(loop_->log(), "net", "a newcomer",
                      [&]() TR_ON_LOOP { has_room = make_way_for(peer); });
        if (!has_room) return refuse(fd, layer);
        // One too many, until the end of this turn.
        if (options_.room != nullptr) options_.room->enter_anyway();
    }
    std::unique_ptr<Transport> transport = make_transport(fd, layer);
    transport != nullptr ? static_cast<void>(begin(std::move(transport), peer)) : leave();
}

bool TcpServer::enter() {
    if (connections_.size() >= options_.connections_max) return false;
    return options_.room == nullptr || options_.room->enter();
}

void TcpServer::leave() {
    if (options_.room != nullptr) options_.room->leave();
}

// A limit that refuses the last newcomer can be filled by a single client with silent connections.
bool TcpServer::make_way_for(const core::Address& newcomer) {
    // Closed for an earlier newcomer of this turn, at whose end they leave.
    if (places_to_come_ > 0) {
        --places_to_come_;
        return true;
    }
    const core::ClientKey own(newcomer);
    if (loop_->now() >= look_again_) turned_away_.clear();
    if (turned_away_.size() == turned_away_max ||
        std::ranges::find(turned_away_, own) != turned_away_.end()) {
        return false;
    }
    std::map<core::ClientKey, std::size_t> counts;
    std::vector<Connection*> idle;
    connections_.for_each([&](ConnectionId, Connection& each) {
        const core::ClientKey client(each.peer());
        if (each.closing() || client.is_alone()) return;
        ++counts[client];
        if (each.is_idle()) idle.push_back(&each);
    });
    const auto connections_of = [&](const Connection* each) {
        return counts[core::ClientKey(each->peer())];
    };
    const auto most = std::ranges::max_element(idle, {}, connections_of);
    // Otherwise the newcomer's client would have more then than the other.
    if (most == idle.end() || connections_of(*most) <= counts[own] + 1) {
        if (turned_away_.empty()) look_again_ = moment_after(loop_->now(), 100ms);
        // Where none is idle, all are turned away.
        turned_away_.resize(most == idle.end() ? turned_away_max : turned_away_.size() + 1, own);
        return false;
    }
    const core::ClientKey client((*most)->peer());
    std::erase_if(idle,
                  [&](const Connection* each) { return core::ClientKey(each->peer()) != client; });
    // Some more than needed, so that a flood costs little. The next to expire is idle for longest.
    const std::size_t count = std::min(idle.size(), 1 + counts[client] / 64);
    std::ranges::partial_sort(idle, idle.begin() + static_cast<std::ptrdiff_t>(count), {},
                              &Connection::deadline);
    for (std::size_t i = 0; i < count; ++i) idle[i]->close(CloseReason::idle_expired);
    places_to_come_ = count - 1;
    return true;
}

// nullptr: it is closed, for lack of room in the engine or of memory. The others go on.
std::unique_ptr<Transport> TcpServer::make_transport(int fd, TransportLayer* layer) {
    auto socket = TcpTransport::make(*loop_, fd);
    if (!socket) return nullptr;
    if (layer == nullptr) return std::move(*socket);
    try {
        return layer->wrap(std::move(*socket));
    } catch (...) {
        core::log_exception(loop_->log(), "net", "a transport layer");
        return nullptr;
    }
}

Connection* TcpServer::adopt(std::unique_ptr<Transport> transport, const core::Address& peer) {
    // Never refused: its caller has it already.
    if (options_.room != nullptr) options_.room->enter_anyway();
    return begin(std::move(transport), peer);
}

Connection* TcpServer::begin(std::unique_ptr<Transport> transport, const core::Address& peer) {
    loop_->assert_on_loop();
    Connection* connection = nullptr;
    Session* session = nullptr;
    try {
        connection = &connections_.emplace(static_cast<Connection::Owner&>(*this),
                                           std::move(transport), peer);
        TcpServerCounters::add_one(counters_->opened);
        session = &sessions_->make_session(*connection);
        connection->start(*session);
    } catch (...) {
        core::log_exception(loop_->log(), "net", "a session factory");
        // A session that knows the connection gets its on_close, later in this turn; without a
        // session there is none to notify.
        if (session != nullptr) {
            connection->close(CloseReason::aborted);
        } else if (connection != nullptr) {
            release(*connection, CloseReason::aborted);
        } else {
            leave();
        }
        return nullptr;
    }
    return connection;
}

void TcpServer::refuse(int fd, const TransportLayer* layer) {
    TcpServerCounters::add_one(counters_->refused);
    // In front of TLS a sentence in clear text would be a damaged record, so nothing is sent.
    const ByteView words = layer == nullptr ? ByteView(options_.refusal) : ByteView();
    refuse_connection(loop_->kernel(), fd, words);
}

void TcpServer::release(Connection& connection, CloseReason reason) {
    TcpServerCounters::add_one(counters_->closed[static_cast<std::size_t>(reason)]);
    connections_.erase(connection.id());
    places_to_come_ = 0;  // they come now
    leave();
    finish_drain_if_empty();
}

void TcpServer::drain(Instant deadline, unique_function<void()> done) {
    loop_->assert_on_loop();
    drained_ = std::move(done);
    // Connections that wait in the kernel's queue have been promised service: take them first.
    for (auto& entrance : entrances_) entrance->stop();
    draining_ = true;
    connections_.for_each([](ConnectionId, Connection& connection) {
        connection.loop().assert_on_loop();
        // Each Session decides whether it is in the middle of something; the deadline ends the
        // rest.
        if (!connection.closing()) connection.drain();
    });
    if (connections_.size() > 0) {
        drain_timer_ = std::make_unique<DrainTimer>(*this);
        loop_->arm(*drain_timer_, deadline);
    }
    finish_drain_if_empty();
}

// Moved out before the call, so that `done` runs once even if it destroys this server.
void TcpServer::finish_drain_if_empty() {
    if (draining_ && connections_.size() == 0 && drained_) std::exchange(drained_, {})();
}

std::vector<core::SendHolder::Holding> TcpServer::holdings() {
    std::vector<Holding> all;
    connections_.for_each([&](ConnectionId id, Connection& connection) {
        if (connection.closing()) return;
        const std::uint64_t packed = std::uint64_t{id.slot} << 32 | id.generation;
        all.push_back({.held = connection.held_bytes(),
                       .client = core::ClientKey(connection.peer()),
                       .trusted = connection.is_trusted(),
                       .id = packed});
    });
    return all;
}

void TcpServer::give_up(std::uint64_t id) {
    Connection* const largest =
        find({static_cast<std::uint32_t>(id >> 32), static_cast<std::uint32_t>(id)});
    if (largest != nullptr) largest->close(CloseReason::send_memory_full);
}

void TcpServer::abort_all() {
    connections_.for_each([](ConnectionId, Connection& connection) {
        connection.loop().assert_on_loop();
        connection.close(CloseReason::server_stopped);
    });
}

}  // namespace tiderace::net

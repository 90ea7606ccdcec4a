#include "tiderace/http/client/client_connection.h"

#include <algorithm>
#include <utility>

namespace tiderace::http {

using Kind = ClientFault::Kind;

ClientConnection::ClientConnection(ClientConnections& all, tcp::Dialed dialed, Setup setup)
    : all_(&all),
      number_(++all.made_),
      setup_(std::move(setup)),
      layer_(std::move(dialed.layer)),
      connection_({}, *this, std::move(dialed.transport), std::move(dialed.peer)) {
    connection_.start(*this);
    // In clear nothing negotiates a version, so HTTP/2 is spoken only to servers that are known to
    // take it.
    if (!setup_.secure) settle(setup_.versions == ClientVersions::http_2);
}

core::EventLoop& ClientConnection::loop() {
    return all_->loop();
}

std::size_t ClientConnection::room() const {
    return settled() && !gone_ && !connection_.closing() ? protocol_->room() : 0;
}

ClientLink* ClientConnection::begin(ClientExchange& exchange, const ClientHead& head) {
    used_ = true;
    return protocol_->begin(exchange, head);
}

// While a send is pending, its bytes may have arrived without being counted.
bool ClientConnection::is_unsent(std::uint64_t mark) const {
    return connection_.bytes_sent() <= mark && !connection_.send_pending();
}

// Only now is it known which protocol is spoken: over TLS, ALPN has decided.
void ClientConnection::settle(bool h2) {
    protocol_ = h2 ? make_client_h2(*this) : make_client_h1(*this);
    // The handshake's time ends here. From now on the pool sets the time for which it may be idle.
    connection_.set_deadline(Instant::max());
    if (handshake_ != nullptr) handshake_->changed_.wake_all();
}

void ClientConnection::on_secured(net::Connection& connection) {
    const net::TransportSecurity* const security = connection.security();
    const bool agreed = security != nullptr && security->protocol == "h2";
    // Without ALPN's agreement the server would read our preface as a request of HTTP/1.1.
    if (setup_.versions == ClientVersions::http_2 && !agreed) {
        return fail(Kind::tls, "the server does not offer HTTP/2");
    }
    settle(agreed);
}

void ClientConnection::ready() {
    // A pool that got on_ready() after on_gone() would hand the connection out, and keep a pointer
    // to it.
    if (observer_ != nullptr && !gone_) observer_->on_ready(*this);
}

// It takes no more requests and is in no pool; those under way go on.
void ClientConnection::leave() {
    if (std::exchange(gone_, true)) return;
    if (observer_ != nullptr) observer_->on_gone(*this);
}

void ClientConnection::abort() {
    connection_.close(net::CloseReason::aborted);
    leave();
}

void ClientConnection::retire() {
    if (protocol_ == nullptr || !protocol_->say_end()) {
        connection_.close(net::CloseReason::idle_expired);
    }
    leave();
}

ClientFault ClientConnection::fault(Kind kind, std::string_view why, bool touched) const {
    std::string message = setup_.place + ": ";
    if (kind == Kind::closed) {
        message += touched ? "the connection ended inside the answer"
                           : "the connection ended before an answer";
        if (!why.empty()) message += ": ";
    }
    return {kind, message.append(why)};
}

// leave() first, so that a request that is tried again at once cannot get this connection.
void ClientConnection::end_exchanges(Kind kind, std::string_view why) {
    leave();
    if (handshake_ != nullptr) {
        ClientHandshake& handshake = *std::exchange(handshake_, nullptr);
        handshake.connection_ = nullptr;
        handshake.fault_ = fault(kind, why, false);
        handshake.changed_.wake_all();
    }
    if (protocol_ != nullptr) protocol_->on_closed(kind, why);
}

void ClientConnection::fail(Kind kind, std::string_view why) {
    if (!connection_.closing()) connection_.close(net::CloseReason::aborted);
    end_exchanges(kind, why);
}

std::size_t ClientConnection::on_data(net::Connection&, ByteView data) {
    // Before the protocol is known we have sent nothing, so nothing can be an answer.
    if (protocol_ != nullptr) return protocol_->on_data(data);
    fail(Kind::bad_answer, "unasked bytes");
    return data.size();
}

void ClientConnection::on_drained(net::Connection&) {
    if (protocol_ != nullptr) protocol_->on_drained();
}

void ClientConnection::on_peer_finished(net::Connection&) {
    if (protocol_ != nullptr) return protocol_->on_peer_finished();
    connection_.close(net::CloseReason::peer_finished);
}

void ClientConnection::on_deadline(net::Connection&) {
    if (protocol_ != nullptr) return protocol_->on_deadline();
    fail(Kind::timed_out, "no TLS handshake in time");
}

void ClientConnection::on_close(net::Connection& connection, net::CloseReason reason) {
    // From the most exact cause to the least. A proxy's refusal also ends a connection that is not
    // settled, and would read as a failed TLS handshake.
    if (reason == net::CloseReason::write_stalled) {
        end_exchanges(Kind::timed_out, "the server takes nothing of the request");
    } else if (setup_.refusal != nullptr && !setup_.refusal->empty()) {
        end_exchanges(Kind::connect, *setup_.refusal);
    } else if (!settled()) {
        end_exchanges(Kind::tls, connection.handshake_failure());
    } else {
        end_exchanges(Kind::closed, to_string(reason));
    }
}

void ClientConnection::release(net::Connection&, net::CloseReason) {
    all_->remove(*this);
}

ClientHandshake::ClientHandshake(ClientConnection& connection, Instant deadline)
    : connection_(&connection) {
    connection.handshake_ = this;
    if (!connection.settled()) connection.below().set_deadline(deadline);
}

// The task that opens the connection ended first, and nothing else refers to it yet.
ClientHandshake::~ClientHandshake() {
    if (connection_ == nullptr) return;
    connection_->handshake_ = nullptr;
    connection_->abort();
}

ClientConnection* ClientHandshake::take() {
    if (connection_ != nullptr) connection_->handshake_ = nullptr;
    return std::exchange(connection_, nullptr);
}

const std::shared_ptr<ClientConnections>& ClientConnections::of(task::Runner& runner) {
    struct Kept {
        explicit Kept(task::Runner& r) : all(std::make_shared<ClientConnections>(r)) {}
        std::shared_ptr<ClientConnections> all;
    };
    return runner.local<Kept>().all;
}

ClientConnections::ClientConnections(task::Runner& runner) : runner_(&runner) {
    // One subscriber for all connections of the loop, because the room is common to all clients on
    // it.
    receive_budget_->on_room([this] { on_room(); });
}

ClientConnections::~ClientConnections() {
    receive_budget_->on_room({});  // answers may outlive us
    // Connections end at the end of a turn, so turns are made until none is left.
    for (const auto& each : all_) each->abort();
    while (!all_.empty()) loop().turn(Duration::zero());
}

ClientConnection& ClientConnections::add(tcp::Dialed dialed, ClientConnection::Setup setup) {
    all_.push_back(std::make_unique<ClientConnection>(*this, std::move(dialed), std::move(setup)));
    return *all_.back();
}

void ClientConnections::forget(const ClientConnection::Observer& observer) {
    for (const auto& each : all_) {
        if (!each->is_observed_by(observer)) continue;
        each->set_observer(nullptr);
        each->abort();
    }
}

// Requests of any client may wait for it.
void ClientConnections::on_room() {
    for (const auto& each : all_) {
        if (each->multiplexes()) each->ready();
    }
}

std::span<char> ClientConnections::arena(std::size_t bytes) {
    if (arena_.size() < bytes) arena_.resize(bytes);
    return arena_;
}

void ClientConnections::remove(ClientConnection& connection) {
    const auto found =
        std::ranges::find(all_, &connection, [](const auto& each) { return each.get(); });
    // Their order means nothing: the pool has its own, of those that are ready.
    std::swap(*found, all_.back());
    all_.pop_back();
}

}  // namespace tiderace::http

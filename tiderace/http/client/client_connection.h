// Internal. ClientConnection: one connection to a server, and the protocol on it, which the
// handshake of TLS chooses (ALPN), or the client's options in clear text.
//
//   dialed -> [TLS handshake] -> settled: HTTP/1.1 or HTTP/2 -> begin()… -> gone -> closed
//
// gone: it takes no more requests. With HTTP/2 its open ones may still be answered.
//
// Owner    ClientConnections, of the runner; it borrows the exchanges that it works for, and its
//          Observer (the pool), until either leaves.
// Thread   The loop's.
// Errors   What the server does wrong ends the exchange with a ClientFault, and the connection.
// Limits   wire::ResponseLimits for heads, net::ConnectionLimits for the rest; HTTP/2: client_h2.h,
//          and ReceiveBudget for all of them together.
// Keywords: ALPN
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/http/client/client_exchange.h"
#include "tiderace/http/client/client_protocol.h"
#include "tiderace/http/client/receive_budget.h"
#include "tiderace/http/client/signal.h"
#include "tiderace/http/wire/response_reader.h"
#include "tiderace/net/connection.h"
#include "tiderace/tcp/dial.h"

namespace tiderace::http {

class ClientConnections;
class ClientHandshake;

// Which versions of HTTP a client speaks.
enum class ClientVersions : std::uint8_t {
    any,       // https: HTTP/2 where the server agrees; http: HTTP/1.1
    http_1_1,  // no other
    http_2,    // no other, in clear text too, where the server must know (RFC 9113, 3.3); a proxy
               // still gets requests for http URLs in HTTP/1.1
};

class ClientConnection final : private net::Connection::Owner, private net::Session {
  public:
    class Observer {
      public:
        // A request may be sent, or one more.
        virtual void on_ready(ClientConnection& connection) = 0;
        // It takes no more requests. Once; also when it never did.
        virtual void on_gone(ClientConnection& connection) = 0;

      protected:
        ~Observer() = default;
    };
    struct Setup {
        std::string place;      // "http://a.example:80": the server that it leads to
        std::string authority;  // "a.example", as its requests name it
        bool secure = false;
        ClientVersions versions = ClientVersions::any;
        std::shared_ptr<std::string> refusal;  // where a proxy's will be written
    };

    ClientConnection(ClientConnections& all, tcp::Dialed dialed, Setup setup);

    void set_observer(Observer* observer) { observer_ = observer; }
    bool is_observed_by(const Observer& observer) const { return observer_ == &observer; }
    const std::string& authority() const { return setup_.authority; }
    // Each is higher than the number of every earlier connection.
    std::uint64_t number() const { return number_; }

    // For the pool and the client. ----------------------------------------------------------------

    // The protocol is known.
    bool settled() const { return protocol_ != nullptr; }
    // How many requests may be sent now, as far as is known.
    std::size_t room() const;
    bool gone() const { return gone_; }
    // None is under way.
    bool unused() const { return protocol_ == nullptr || protocol_->exchanges() == 0; }
    bool may_grow() const { return protocol_ != nullptr && protocol_->may_grow(); }
    bool multiplexes() const { return protocol_ != nullptr && protocol_->multiplexes(); }
    // It has had a request before: it may have been closed by now.
    bool used() const { return used_; }
    // With room(). nullptr: it failed, and so did the exchange.
    ClientLink* begin(ClientExchange& exchange, const ClientHead& head);
    void idle_until(Instant when) { protocol_->idle_until(when); }
    void abort();
    // Closes it; it is not busy.
    void retire();

    // For the protocol. -------------------------------------------------------------------------

    net::Connection& below() { return connection_; }
    // Where the next write begins, and whether nothing from such a mark on has left yet.
    std::uint64_t mark() const { return connection_.bytes_sent() + connection_.queue_bytes(); }
    bool is_unsent(std::uint64_t mark) const;
    ClientConnections& all() { return *all_; }
    void ready();
    // No more requests.
    void leave();
    // Ends all exchanges, and the connection.
    void fail(ClientFault::Kind kind, std::string_view why);
    // Without closing it.
    void end_exchanges(ClientFault::Kind kind, std::string_view why);
    ClientFault fault(ClientFault::Kind kind, std::string_view why, bool touched) const;

  private:
    friend class ClientHandshake;

    core::EventLoop& loop() override;
    const net::ConnectionLimits& limits() const override { return limits_; }
    void release(net::Connection& connection, net::CloseReason reason) override;

    std::size_t on_data(net::Connection& connection, ByteView data) override;
    void on_secured(net::Connection&) override;
    void on_drained(net::Connection&) override;
    void on_peer_finished(net::Connection& connection) override;
    void on_deadline(net::Connection& connection) override;
    void on_close(net::Connection& connection, net::CloseReason reason) override;

    void settle(bool h2);

    ClientConnections* all_;
    Observer* observer_ = nullptr;
    ClientHandshake* handshake_ = nullptr;
    std::uint64_t number_;
    Setup setup_;
    net::ConnectionLimits limits_;
    std::shared_ptr<tcp::ClientLayer> layer_;
    net::Connection connection_;  // after what it uses
    std::unique_ptr<ClientProtocol> protocol_;
    bool used_ = false;
    bool gone_ = false;
};

// A task that waits until a connection is settled. If it ends before, so does the connection.
class ClientHandshake final {
  public:
    ClientHandshake(ClientConnection& connection, Instant deadline);
    ~ClientHandshake();
    ClientHandshake(const ClientHandshake&) = delete;
    ClientHandshake& operator=(const ClientHandshake&) = delete;

    // Until it is over.
    Signal::Wait changed() { return changed_.wait(); }
    bool over() const { return connection_ == nullptr || connection_->settled(); }
    // Once it is over: the connection, or nullptr; then see fault().
    ClientConnection* take();
    const ClientFault& fault() const { return *fault_; }

  private:
    friend class ClientConnection;

    ClientConnection* connection_;
    Signal changed_;
    std::optional<ClientFault> fault_;
};

// The connections of all clients on one loop, until their close. They may end before their clients:
// a client is a state of an App, say, and these end with its runner.
class ClientConnections final {
  public:
    // The runner's own; kept by it, and watched by the clients.
    static const std::shared_ptr<ClientConnections>& of(task::Runner& runner);

    explicit ClientConnections(task::Runner& runner);
    // Closes all, with the turns that it takes.
    ~ClientConnections();

    ClientConnection& add(tcp::Dialed dialed, ClientConnection::Setup setup);
    // Closes the observer's connections, without calling it any more.
    void forget(const ClientConnection::Observer& observer);
    std::size_t size() const { return all_.size(); }
    core::EventLoop& loop() const { return runner_->loop(); }

    // For the streams of HTTP/2.
    const core::Ref<ReceiveBudget>& receive_budget() const { return receive_budget_; }
    // Where a field block is decoded: at least so many bytes.
    std::span<char> arena(std::size_t bytes);
    // Where the fields of the head stand that is being read; no connection keeps some of its own.
    wire::FieldPlaces& field_places() { return field_places_; }

  private:
    friend class ClientConnection;

    void remove(ClientConnection& connection);
    void on_room();

    task::Runner* runner_;
    std::vector<std::unique_ptr<ClientConnection>> all_;
    std::vector<char> arena_;
    wire::FieldPlaces field_places_;
    std::uint64_t made_ = 0;
    core::Ref<ReceiveBudget> receive_budget_{new ReceiveBudget};
};

}  // namespace tiderace::http

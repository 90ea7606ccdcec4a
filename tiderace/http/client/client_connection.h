// ClientConnection: HTTP/1.1 on one connection to a server: one exchange after another.
//
//   idle -> begin() -> write()… end_request() -> the answer -> idle, or closed
//
// Owner    ClientConnections, of the runner; it borrows the exchange that it works for, and its
//          Observer (the pool), until either leaves.
// Thread   The loop's.
// Errors   What the server does wrong ends the exchange with a ClientFault, and the connection.
// Limits   wire::ResponseLimits for heads, net::ConnectionLimits for the rest.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tiderace/http/client/client_exchange.h"
#include "tiderace/http/wire/response_reader.h"
#include "tiderace/net/connection.h"
#include "tiderace/tcp/dial.h"

namespace tiderace::http {

class ClientConnections;

class ClientConnection final : private net::Connection::Owner, private net::Session {
  public:
    class Observer {
      public:
        // Another request may be sent.
        virtual void on_idle(ClientConnection& connection) = 0;
        // It takes no more requests. Once; also when it was never idle.
        virtual void on_gone(ClientConnection& connection) = 0;

      protected:
        ~Observer() = default;
    };

    ClientConnection(ClientConnections& all, tcp::Dialed dialed, bool secure, std::string place);

    void set_observer(Observer* observer) { observer_ = observer; }
    // "http://a.example:80": the server that it leads to.
    const std::string& place() const { return place_; }

    // Called by the exchange.
    void begin(ClientExchange& exchange);
    net::Backlog write(ByteView bytes) { return connection_.write(bytes); }
    void end_request();
    void give_up();
    void set_reading(bool on) { connection_.set_reading(on); }
    bool has_backlog() const { return connection_.has_backlog(); }

    // A request may be sent, as far as is known.
    bool usable() const { return exchange_ == nullptr && !gone_ && !connection_.closing(); }
    // It has had a request before: it may have been closed by now.
    bool used() const { return used_; }
    // A byte of the present answer has come.
    bool touched() const { return touched_; }
    void close_at(Instant when) { connection_.set_deadline(when); }
    void abort() { connection_.close(net::CloseReason::aborted); }
    // Closes it; it is not busy.
    void retire();
    // Where a proxy's refusal will be written, before the connection closes.
    void set_refusal(std::shared_ptr<std::string> refusal) { refusal_ = std::move(refusal); }
    bool is_observed_by(const Observer& observer) const { return observer_ == &observer; }

  private:
    core::EventLoop& loop() override;
    const net::ConnectionLimits& limits() const override { return limits_; }
    void release(net::Connection& connection, net::CloseReason reason) override;

    std::size_t on_data(net::Connection& connection, ByteView data) override;
    void on_secured(net::Connection&) override { secured_ = true; }
    void on_drained(net::Connection&) override;
    void on_peer_finished(net::Connection& connection) override;
    void on_deadline(net::Connection& connection) override;
    void on_close(net::Connection& connection, net::CloseReason reason) override;

    void answer_ended(bool more_came);
    void finish_exchange(bool reusable);
    void fail(ClientFault::Kind kind, std::string message);
    void go();

    ClientConnections* all_;
    Observer* observer_ = nullptr;
    ClientExchange* exchange_ = nullptr;
    wire::ResponseReader reader_;
    std::string place_;
    net::ConnectionLimits limits_;
    std::shared_ptr<tcp::ClientLayer> layer_;
    std::shared_ptr<std::string> refusal_;
    net::Connection connection_;  // after what it uses
    bool secure_;
    bool secured_ = false;
    bool used_ = false;
    bool touched_ = false;
    bool request_sent_ = false;
    bool answer_ended_ = false;
    bool gone_ = false;
};

// The connections of all clients on one loop, until their close. They may end before their clients:
// a client is a state of an App, say, and these end with its runner.
class ClientConnections final {
  public:
    // The runner's own; kept by it, and watched by the clients.
    static const std::shared_ptr<ClientConnections>& of(task::Runner& runner);

    explicit ClientConnections(task::Runner& runner) : runner_(&runner) {}
    // Closes all, with the turns that it takes.
    ~ClientConnections();

    ClientConnection& add(tcp::Dialed dialed, bool secure, std::string place);
    // Closes the observer's connections, without calling it any more.
    void forget(const ClientConnection::Observer& observer);
    std::size_t size() const { return all_.size(); }
    core::EventLoop& loop() const { return runner_->loop(); }

  private:
    friend class ClientConnection;

    void remove(ClientConnection& connection);

    task::Runner* runner_;
    std::vector<std::unique_ptr<ClientConnection>> all_;
};

}  // namespace tiderace::http

// FastCgiPeer: the connections of one loop to one FastCGI peer, and the requests that wait for one.
//
//   ask(call) -> a kept connection that is free, or a new one -> call.let_in(); otherwise it waits
//   connection: connecting -> free <-> busy with one request -> (idle_max) -> closed
//
// Owner    FastCgi.
// Thread   The loop's.
// Errors   A connection that cannot be made fails the call that it was made for: 502.
// Keywords: FastCGI, connection pool
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/core/send_queue.h"
#include "tiderace/http/cgi/error_lines.h"
#include "tiderace/http/cgi/fastcgi.h"
#include "tiderace/http/places.h"
#include "tiderace/http/wire/cgi/fcgi_records.h"
#include "tiderace/net/connection.h"
#include "tiderace/net/connector.h"
#include "tiderace/net/session.h"

namespace tiderace::http::cgi {

class FastCgiConnection;

// One request.
//
//   asked -> waiting_ --begin(), let_in()--> on a connection --on_end()--> ended_ --read--> over
//              ^                               |
//              '---- is_repeatable() ---- on_lost() ----> 502, over
//
// A call that is over before its peer ended it ends the connection (leave()).
class FastCgiCall final : public ProgramCall, public ListHook {
  public:
    FastCgiCall(FastCgi& handler, std::string_view name);
    ~FastCgiCall() override;

  private:
    friend class FastCgiConnection;
    friend class FastCgiPeer;

    void on_ready_to_start() override;
    void start() override;
    void on_body() override;
    void want_output() override;
    State pull_output(core::BlockPool& blocks, core::SendQueue& out,
                      std::size_t bytes_wanted) override;
    void on_over() override;

    // From the connection.
    void on_output(ByteView bytes);
    void on_errors(ByteView bytes) { errors_.feed(bytes); }
    void on_end(const wire::cgi::FcgiEvent& end);
    [[gnu::cold]] void on_lost(std::string_view why);
    void answer_now();
    void answer_at_end();
    void keep_received();
    bool is_repeatable() const;

    FastCgi* handler_;
    FastCgiConnection* connection_ = nullptr;
    ErrorLines errors_;
    ByteView received_;  // of the output, behind the head; not longer than on_data() runs
    core::SendQueue output_;
    bool ended_ = false;  // the peer has
    bool input_ended_ = false;
    bool peer_answered_ = false;
    Instant begun_{};
    bool may_retry_ = false;  // a kept connection may have been closed just before
};

class FastCgiConnection final : public net::Session {
  public:
    explicit FastCgiConnection(FastCgiPeer& peer) : peer_(&peer) {}

    void attach(net::Connection& connection);
    bool is_free() const { return call_ == nullptr && !closing_; }
    void begin(FastCgiCall& call);
    // The id of the request on it.
    std::uint16_t id() const { return id_; }
    // The call is over, and the peer has not ended its request.
    [[gnu::cold]] void leave();
    void write(ByteView bytes);
    // Asks for on_body() of the call when what was written has left.
    void want_drained() { connection_->want_drained(); }
    bool takes_body() const;
    // Reads, unless the call holds all the output that it may.
    void update_reading();

  private:
    friend class FastCgiPeer;

    std::size_t on_data(net::Connection& connection, ByteView data) override;
    void on_drained(net::Connection& connection) override;
    void on_peer_finished(net::Connection& connection) override;
    void on_deadline(net::Connection& connection) override;
    void on_close(net::Connection& connection, net::CloseReason reason) override;
    void take(const wire::cgi::FcgiEvent& event);
    void take_end(const wire::cgi::FcgiEvent& end);
    // Lack of memory is 503, not a lost connection.
    template <typename Step>
    void contain(FastCgiCall& call, Step&& step);
    void watch_idle();
    // The call that it had, which has its place no more.
    FastCgiCall* release();
    [[gnu::cold]] void close();
    // Closes. The call is sent again or fails.
    [[gnu::cold]] void fail(std::string_view why);

    FastCgiPeer* peer_;
    net::Connection* connection_ = nullptr;
    wire::cgi::FcgiReader reader_;
    FastCgiCall* call_ = nullptr;
    std::uint16_t id_ = 0;
    bool closing_ = false;
    bool used_ = false;
    Instant idle_since_{};
};

class FastCgiPeer {
  public:
    FastCgiPeer(core::EventLoop& loop, const FastCgiOptions& options);
    ~FastCgiPeer();

    // let_in() follows, perhaps inside; or refuse().
    void ask(FastCgiCall& call);
    void forget(FastCgiCall& call);
    std::size_t connections() const { return connections_.size() + connecting_; }

  private:
    friend class FastCgiConnection;
    friend class FastCgiCall;

    [[gnu::cold]] void connect();
    void on_connected(Result<net::Connection*> made, std::unique_ptr<FastCgiConnection> one);
    FastCgiCall& take(std::size_t at);
    template <typename Step>
    bool contain(Step&& step);
    void serve_waiting();
    bool needs_connection() const;
    FastCgiConnection* find_free();
    void on_idle(FastCgiConnection& connection);
    void on_gone(FastCgiConnection& connection);
    // A request has waited for its first byte for long: perhaps for a process that idles for us.
    bool starves() const;

    core::EventLoop* loop_;
    const FastCgiOptions* options_;
    std::vector<std::unique_ptr<FastCgiConnection>>
        connections_;                                       // in the order in which they were made
    std::vector<std::unique_ptr<FastCgiConnection>> gone_;  // until the next is made
    std::vector<FastCgiCall*> waiting_;
    Places places_;  // of calls on connections
    std::size_t connecting_ = 0;
    bool ending_ = false;
    net::Connector connector_;  // last: its end ends the sessions
};

}  // namespace tiderace::http::cgi

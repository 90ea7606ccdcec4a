// FastCgiPeer: the connections of one loop to one FastCGI peer, and the requests that wait for one.
//
//   ask(call) -> a kept connection with room, or a new one -> call.let_in(); otherwise it waits
//   connection: connecting -> ready <-> busy -> (idle_max) -> closed
//
// Owner    FastCgi.
// Thread   The loop's.
// Errors   A connection that cannot be made fails the call that asked for it: 502.
//
// The peer is queried whether it multiplexes when the first connection is made, and again after all
// of them have gone, since it may have been restarted as another program. Until it answers it gets
// one request a connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/core/send_queue.h"
#include "tiderace/http/cgi/error_lines.h"
#include "tiderace/http/cgi/fastcgi.h"
#include "tiderace/http/wire/cgi/fcgi_records.h"
#include "tiderace/net/connection.h"
#include "tiderace/net/connector.h"
#include "tiderace/net/session.h"

namespace tiderace::http::cgi {

class FastCgiConnection;

// One request. Its id on the connection is its own until the peer has ended it.
//
//   asked -> waiting_ --add(), let_in()--> on a connection --on_end()--> ended_ --read--> over
//              ^                             |
//              '--- is_repeatable() --- on_lost() ----> 502, over
//
// A call that is over before its peer ended it leaves its id behind on the connection (remove()).
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
    bool is_held_up() const override;
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
    std::uint16_t id_ = 0;
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
    // Room for one more request.
    bool has_room() const;
    bool is_idle() const { return calls_.empty(); }
    // No call of ours is on it, only such as were aborted.
    bool is_left() const;
    void add(FastCgiCall& call);
    // The call is over; the peer may not have ended its request.
    void remove(FastCgiCall& call);
    void write(ByteView bytes);
    // answer_now() follows before on_data() returns, if on_end() does not.
    void answer_later(FastCgiCall& call);
    // Asks for on_body() of its calls when what was written has left.
    void want_drained() { connection_->want_drained(); }
    bool takes_body() const;
    bool is_paused() const;  // its calls hold all that they may: nothing is read
    void update_reading();
    [[gnu::cold]] void close();

  private:
    friend class FastCgiPeer;

    std::size_t on_data(net::Connection& connection, ByteView data) override;
    void on_drained(net::Connection& connection) override;
    void on_peer_finished(net::Connection& connection) override;
    void on_deadline(net::Connection& connection) override;
    void on_close(net::Connection& connection, net::CloseReason reason) override;
    void take(const wire::cgi::FcgiEvent& event);
    void answer_unanswered();
    // Lack of memory ends the call that meets it, and not the others of the connection.
    template <typename Step>
    void contain(FastCgiCall& call, Step&& step);
    void watch_idle();
    [[gnu::cold]] void fail_all(std::string_view why);

    // Few, so that a search beats a map. nullptr: over here, and not yet at the peer.
    using Calls = std::vector<std::pair<std::uint16_t, FastCgiCall*>>;
    Calls::iterator find(std::uint16_t id);

    FastCgiPeer* peer_;
    net::Connection* connection_ = nullptr;
    wire::cgi::FcgiReader reader_;
    Calls calls_;
    FastCgiCall* unanswered_ = nullptr;  // its head came in the present on_data()
    std::uint16_t last_id_ = 0;
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
    bool multiplexes() const { return multiplexes_; }

  private:
    friend class FastCgiConnection;
    friend class FastCgiCall;

    [[gnu::cold]] void connect();
    void on_connected(Result<net::Connection*> made, std::unique_ptr<FastCgiConnection> one);
    FastCgiCall& take_first();
    template <typename Step>
    bool contain(Step&& step);
    void serve_waiting();
    FastCgiConnection* find_room();
    void on_idle(FastCgiConnection& connection);
    void on_gone(FastCgiConnection& connection);
    void ask_values();
    bool may_have_changed() const;
    // A request has waited for its first byte for long: perhaps for a process that idles for us.
    bool starves() const;

    core::EventLoop* loop_;
    const FastCgiOptions* options_;
    std::vector<std::unique_ptr<FastCgiConnection>>
        connections_;                                       // in the order in which they were made
    std::vector<std::unique_ptr<FastCgiConnection>> gone_;  // until the next is made
    std::vector<FastCgiCall*> waiting_;
    std::size_t connecting_ = 0;
    Instant ask_again_ = Instant::min();
    bool multiplexes_ = false;
    bool ending_ = false;
    class Question;
    std::unique_ptr<Question> question_;
    net::Connector connector_;  // last: its end ends the sessions
};

}  // namespace tiderace::http::cgi

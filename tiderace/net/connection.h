// Connection: one peer, one ordered byte stream each way, over any Transport (TCP, TLS, test pipe).
//
//   in:  transport -> loop's receive block -> Session::on_data    a view, gone on return
//   out: write() -> bounded queue -> transport                    never blocks; one write a turn
//
//   open --finish()--> finishing --queue sent--> lingering --peer's end, linger--+
//     |                    ^                                                      |
//     |                    | finish(), or the peer sends more                     v
//     +--close_when_sent()--> ending --queue sent------------------------------> closing
//     +--close(): a fault, a limit, a deadline; from any phase------------------> closing
//
//   closing --end of turn--> on_close, and the owner destroys it
//
// Owner    TcpServer's slot map, or its creator. Everyone else borrows, until on_close.
// Thread   The loop it was made on. Other threads keep its id and go through EventLoop::post.
// Errors   A failing peer is normal and is reported once, as a CloseReason. Misuse aborts. A
//          Session's exception, std::bad_alloc included, is logged and closes this connection only.
// Limits   ConnectionLimits: what the peer leaves unread, what the Session leaves unused, how slow.
// Memory   Idle: this object, no buffer. Worst: queue_bytes_max + unread_bytes_max.
// Keywords: back-pressure, pause reading, half close, lingering close
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/base/slot_map.h"
#include "tiderace/base/units.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/close_reason.h"
#include "tiderace/net/connection_limits.h"
#include "tiderace/net/progress_rate.h"
#include "tiderace/net/session.h"
#include "tiderace/net/transport.h"

namespace tiderace::net {

using ConnectionId = SlotId;

enum class Backlog : std::uint8_t { low, high };  // high: pause until on_drained

class Connection final : private Transport::Observer, private core::Timer, private core::TurnEnd {
  public:
    // The owner of a loop's connections, and what they share.
    class Owner {
      public:
        virtual core::EventLoop& loop() = 0;
        virtual const ConnectionLimits& limits() const = 0;
        // After on_close: destroys the connection.
        virtual void release(Connection& connection, CloseReason reason) TR_ON_LOOP = 0;

      protected:
        ~Owner() = default;
    };

    Connection(ConnectionId id, Owner& owner, std::unique_ptr<Transport> transport,
               core::Address peer);
    ~Connection();

    // Gives the connection its protocol and starts reading. Once.
    void start(Session& session) TR_ON_LOOP;

    // Another protocol from here on (an upgrade). The old Session gets no on_close; unread bytes go
    // to the new one, later in this turn.
    void replace_session(Session& session) TR_ON_LOOP;

    // Copies `data` to the queue; it leaves in this turn, with everything else that is written.
    // Empty data, or any after a fault or close(), is dropped. Writing after finish() is misuse.
    Backlog write(ByteView data) TR_ON_LOOP;
    // The queue itself, to write in place or without a copy. Follow with written().
    core::SendQueue& queue() { return queue_; }
    Backlog written() TR_ON_LOOP;
    // on_drained comes once when the queue is at queue_bytes_low or below, whatever it held before:
    // for a Session that never fills it to queue_bytes_high, so that reading goes on.
    void want_drained() {
        if (pressure_ == Pressure::none) pressure_ = Pressure::drained_wanted;
    }
    void flush() TR_ON_LOOP;  // sends the queue now instead of at the end of the turn

    // Sends the queue, ends our direction, and reads on until the peer ends, or limits().linger.
    // Bytes read from here on are dropped: the Session gets on_drained and on_close only.
    void finish() TR_ON_LOOP;
    // Half-close: sends the queue and ends our direction; reading goes on.
    void finish_sending() TR_ON_LOOP;
    // Sends the queue and closes, for a peer that has sent everything. If more comes: finish().
    void close_when_sent() TR_ON_LOOP;
    // close_when_sent(), once the Session got everything that has arrived by now.
    void close_when_quiet() TR_ON_LOOP;
    // Drops the queue and closes; the first reason stays, and decides whether the peer is reset
    // (is_cut). on_close runs later in this turn, never inside this call.
    void close(CloseReason reason) TR_ON_LOOP;
    // While false, on_data stops and TCP pushes back on the peer. Starts true.
    void set_reading(bool on) TR_ON_LOOP;
    bool reading() const { return reading_; }  // as set_reading() was called last
    void drain() TR_ON_LOOP;                   // notifies the Session that the server stops
    // Later in this turn, gives on_data again the bytes that the Session left unread.
    void deliver_unread_later() TR_ON_LOOP;
    // One deadline, which the Session uses for its phases; Instant::max(): none. Cheap to move.
    void set_deadline(Instant when) TR_ON_LOOP;
    Instant deadline() const { return session_deadline_; }

    core::EventLoop& loop() const { return owner_->loop(); }
    core::BlockPool& blocks() const { return owner_->loop().blocks(); }
    const ConnectionLimits& limits() const { return owner_->limits(); }
    std::uint64_t queue_bytes() const { return queue_.bytes(); }
    // More than limits().queue_bytes_high, or any while the loop's blocks are scarce: a Session
    // that can delay an answer does so until on_drained.
    bool has_backlog() const { return pressure_ == Pressure::high; }
    core::HeldBytes held_bytes() const;  // for the peer, with its transport's and Session's
    std::uint64_t bytes_sent() const { return bytes_sent_; }
    bool send_pending() const { return send_pending_; }  // of bytes that bytes_sent() may lack
    bool sending_finished() const { return half_ != Half::open || finishing(); }
    bool peer_finished() const { return input_ != Input::open; }
    bool closing() const { return phase_ == Phase::closing; }
    // An end was requested: nothing more may be written, and incoming bytes are dropped.
    bool finishing() const { return phase_ != Phase::open && phase_ != Phase::closing; }
    bool has_unread() const { return unread_ != nullptr; }
    bool is_idle() const;  // nothing is under way: it may be closed for a newcomer
    bool is_trusted() const { return session_ != nullptr && session_->is_trusted(); }
    ConnectionId id() const { return id_; }              // any thread; never reused while held
    const core::Address& peer() const { return peer_; }  // any thread; fixed when made
    const TransportSecurity* security() const { return transport_->security(); }
    std::string handshake_failure() const;  // a sentence, for a Session that was not secured
    bool tune(const SocketOptions& options) TR_ON_LOOP { return transport_->tune(options); }

  private:
    enum class Phase : std::uint8_t {
        open,
        finishing,  // our direction ends when the queue is sent
        ending,     // the connection closes when the queue is sent
        lingering,  // our direction ended; the peer's end is awaited, for limits().linger
        closing,    // every event is ignored until the end of the turn destroys it
    };
    enum class Input : std::uint8_t {  // the peer's direction
        open,
        ended,
        reported,  // on_peer_finished was called
    };
    enum class Pressure : std::uint8_t {
        none,
        drained_wanted,  // reading goes on
        high,            // the queue passed queue_bytes_high: reading pauses until on_drained
    };
    enum class Half : std::uint8_t { open, ending, ended };  // finish_sending()

    static bool may_follow(Phase from, Phase to);
    void enter(Phase next);
    // Runs code that may call the Session or allocate: an exception closes this connection only.
    template <typename Call>
    void contain(Call&& call) TR_ON_LOOP;

    void on_received(ByteView bytes) TR_ON_LOOP override;
    void on_receive_failed(int error) TR_ON_LOOP override;
    void on_sent(std::int64_t result) TR_ON_LOOP override;
    void on_secured() TR_ON_LOOP override;
    void on_expired() TR_ON_LOOP override;
    void on_turn_end() TR_ON_LOOP override;

    void receive(ByteView bytes) TR_ON_LOOP;
    void expire() TR_ON_LOOP;
    void deliver(ByteView fresh) TR_ON_LOOP;
    void keep_unread(ByteView delivered, std::size_t used) TR_ON_LOOP;
    void send_now() TR_ON_LOOP;
    void after_send() TR_ON_LOOP;
    void after_drained() TR_ON_LOOP;
    void ask_end(Phase how) TR_ON_LOOP;
    std::uint64_t taken_bytes() const;
    void update_receiving() TR_ON_LOOP;
    void arm_for(Instant when) TR_ON_LOOP;
    void close_now() TR_ON_LOOP;

    std::unique_ptr<Transport> transport_;
    Owner* owner_;
    Session* session_ = nullptr;
    core::SendQueue queue_;
    std::unique_ptr<std::string> unread_;
    Instant session_deadline_ = Instant::max();
    std::uint64_t bytes_sent_ = 0;
    ConnectionId id_;
    core::Address peer_;
    LagClock lag_;  // how long the peer may go on taking too little
    CloseReason reason_ = CloseReason::aborted;
    Phase phase_ : 3 = Phase::open;
    Input input_ : 2 = Input::open;
    Pressure pressure_ : 2 = Pressure::none;
    std::uint8_t quiet_rounds_ : 2 = 0;  // remaining rounds of close_when_quiet()
    Half half_ : 2 = Half::open;
    bool reading_ : 1 = true;         // what the Session wants
    bool receiving_ : 1 = false;      // what the transport was last given
    bool delivering_ : 1 = false;     // on_data is on the stack: its writes are flushed after it
    bool deliver_later_ : 1 = false;  // requested, at the end of the turn
    bool send_pending_ : 1 = false;   // the transport will call on_sent
    bool lagging_ : 1 = false;        // the peer: not all was taken at once
};

// Ten thousand idle connections have to fit in little memory (docs/decisions/).
static_assert(sizeof(void*) != 8 || sizeof(Connection) <= 200);

}  // namespace tiderace::net

// Connection: one peer, one ordered byte stream each way, over any Transport (TCP, TLS, test pipe).
//
//   in:  transport -> loop's receive block -> Session::on_data    a view, gone on return
//   out: write() -> bounded queue -> transport                    never blocks; one write a turn
//
// Owner    TcpServer's slot map (or who made it). Everyone else borrows, until on_close.
// Thread   The loop it was made on. Other threads keep its id and go through EventLoop::post.
// Errors   A failing peer is normal and is told once, as a CloseReason. Misuse aborts.
// Limits   ConnectionLimits: what the peer leaves unread, what the Session leaves unused, how slow.
// Memory   Idle: this object, no buffer. Worst: queue_bytes_max + unread_bytes_max.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/base/slot_map.h"
#include "tiderace/base/units.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/close_reason.h"
#include "tiderace/net/transport.h"

namespace tiderace::net {

struct ConnectionLimits {
    std::size_t queue_bytes_max = 4_MiB;     // hard, of copied bytes; above: queue_overflow
    std::size_t queue_bytes_high = 256_KiB;  // above it reading pauses; write() says Backlog::high
    std::size_t queue_bytes_low = 64_KiB;    // on_drained fires when the queue falls to this
    std::size_t unread_bytes_max = 128_KiB;  // hard; bytes kept for on_data that it did not use
    Duration write = 30s;                    // the peer takes something at least this often
    std::uint64_t write_bytes_per_second_min = 0;  // over each `write` period; 0: one byte will do
    Duration linger = 2s;                          // how long finish() waits for the peer's own end
};

class Connection;
using ConnectionId = SlotId;

// The protocol on one connection. Not owned by it; lives until its on_close.
class Session {
  public:
    // Returns the bytes used, 0..data.size(); the rest comes again before newer bytes.
    // `data` is never empty. May call anything on the connection.
    virtual std::size_t on_data(Connection& connection, ByteView data) TR_ON_LOOP = 0;
    // security() is final: who speaks first knows what ALPN chose. Before any byte; not in clear.
    virtual void on_secured(Connection&) TR_ON_LOOP {}
    // The queue fell to queue_bytes_low from above queue_bytes_high, or after want_drained().
    virtual void on_drained(Connection&) TR_ON_LOOP {}
    // The peer will send no more; what it sent was all given to on_data. As it stands: ends the
    // connection when the queue is sent.
    virtual void on_peer_finished(Connection& connection) TR_ON_LOOP;
    // The deadline of set_deadline passed. As it stands: aborts with deadline_expired.
    virtual void on_deadline(Connection& connection) TR_ON_LOOP;
    // The server stops: end when what runs is done, and what has arrived is answered. As it stands:
    // close_when_quiet().
    virtual void on_drain(Connection& connection) TR_ON_LOOP;
    // The file in front of the queue is too short. True: the Session has mended the queue.
    virtual bool on_source_shrank(Connection&) TR_ON_LOOP { return false; }
    // Bytes that it keeps for the peer in blocks of the loop's pool, beside the connection's queue.
    virtual std::uint64_t held_bytes() const { return 0; }
    // The last call, exactly once, after abort() too. Drop every pointer to the connection here.
    virtual void on_close(Connection& connection, CloseReason reason) TR_ON_LOOP = 0;

  protected:
    ~Session() = default;
};

enum class Backlog : std::uint8_t { low, high };  // high: pause until on_drained

class Connection final : private Transport::Observer, private core::Timer, private core::TurnEnd {
  public:
    // Who owns the connections of a loop and what they share.
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

    // Gives it its protocol and starts reading. Once.
    void start(Session& session) TR_ON_LOOP;

    // Another protocol from here on (an upgrade). The old Session gets no on_close; what is unread
    // goes to the new one, later in this turn.
    void replace_session(Session& session) TR_ON_LOOP;

    // Copies `data` to the queue; it leaves in this turn, with what else is written. Empty data, or
    // any after a fault or abort(), is dropped. Writing after finish() is misuse.
    Backlog write(ByteView data) TR_ON_LOOP;
    // The queue itself, to write in place or without a copy. Follow with written().
    core::SendQueue& queue() { return queue_; }
    Backlog written() TR_ON_LOOP;
    // on_drained comes once when the queue is at queue_bytes_low or below, whatever it held before:
    // for a Session that never fills it to queue_bytes_high, so that reading goes on.
    void want_drained() { drained_wanted_ = true; }
    // Sends the queue now instead of at the end of the turn.
    void flush() TR_ON_LOOP;

    // Sends the queue, ends our direction, and reads on until the peer ends, or limits().linger.
    // What is read from here on is dropped: the Session gets on_drained and on_close only.
    void finish() TR_ON_LOOP;
    // Sends the queue and closes at once: for a peer that sent all it had to say. If more comes
    // meanwhile, it is as finish().
    void close_when_sent() TR_ON_LOOP;
    // close_when_sent(), once all that has arrived by now was given to the Session.
    void close_when_quiet() TR_ON_LOOP;
    // Drops the queue and closes. on_close runs later in this turn, never inside this call.
    void abort(CloseReason reason = CloseReason::aborted) TR_ON_LOOP;
    // While false, on_data stops and TCP pushes back on the peer. Starts true.
    void set_reading(bool on) TR_ON_LOOP;
    // Tells the Session that the server stops.
    void drain() TR_ON_LOOP { session_->on_drain(*this); }
    // Gives on_data again, later in this turn, what the Session left unread while it was busy.
    void deliver_unread_later() TR_ON_LOOP;
    // One deadline for the Session's own phases; Instant::max() for none. Refreshing it is a store.
    void set_deadline(Instant when) TR_ON_LOOP;

    core::EventLoop& loop() const { return owner_->loop(); }
    core::BlockPool& blocks() const { return owner_->loop().blocks(); }
    const ConnectionLimits& limits() const { return owner_->limits(); }
    std::uint64_t queue_bytes() const { return queue_.bytes(); }
    // More than limits().queue_bytes_high, or any where the loop's blocks are scarce: whoever can
    // wait with an answer does, for on_drained.
    bool has_backlog() const { return above_high_; }
    // Copied bytes that it, its transport and its Session keep for the peer.
    std::uint64_t held_bytes() const;
    std::uint64_t bytes_sent() const { return bytes_sent_; }
    bool peer_finished() const { return peer_finished_; }
    bool closing() const { return closing_; }
    bool finishing() const { return finish_ != Finish::no; }
    bool has_unread() const { return unread_ != nullptr; }
    bool pushes_back() const { return above_high_; }  // on the peer, until on_drained
    ConnectionId id() const { return id_; }              // any thread; never reused while held
    const core::Address& peer() const { return peer_; }  // any thread; fixed when made
    const TransportSecurity* security() const { return transport_->security(); }

  private:
    enum class Finish : std::uint8_t { no, orderly, at_once, sent };

    void on_received(ByteView bytes) TR_ON_LOOP override;
    void on_receive_failed(int error) TR_ON_LOOP override;
    void on_sent(std::int64_t result) TR_ON_LOOP override;
    void on_secured() TR_ON_LOOP override;
    void on_expired() TR_ON_LOOP override;
    void on_turn_end() TR_ON_LOOP override;

    void deliver(ByteView fresh) TR_ON_LOOP;
    void keep_unread(ByteView delivered, std::size_t used) TR_ON_LOOP;
    void send_now() TR_ON_LOOP;
    void after_send() TR_ON_LOOP;
    void after_drained() TR_ON_LOOP;
    void ask_finish(Finish how) TR_ON_LOOP;
    void check_write_progress() TR_ON_LOOP;
    void update_receiving() TR_ON_LOOP;
    void arm_for(Instant when) TR_ON_LOOP;
    void close_now() TR_ON_LOOP;

    std::unique_ptr<Transport> transport_;
    Owner* owner_;
    Session* session_ = nullptr;
    core::SendQueue queue_;
    std::unique_ptr<std::string> unread_;
    Instant session_deadline_ = Instant::max();
    Instant write_deadline_ = Instant::max();
    std::uint64_t bytes_sent_ = 0;
    ConnectionId id_;
    core::Address peer_;
    std::uint32_t write_mark_ = 0;  // progress, its low half, at the start of the write period
    CloseReason reason_ = CloseReason::aborted;
    Finish finish_ = Finish::no;
    bool reading_ : 1 = true;      // what the Session wants
    bool receiving_ : 1 = false;   // what the transport was told
    bool delivering_ : 1 = false;  // on_data is on the stack: its writes are flushed after it
    bool deliver_later_ : 1 = false;
    bool send_pending_ : 1 = false;
    bool above_high_ : 1 = false;
    bool drained_wanted_ : 1 = false;
    bool peer_finished_ : 1 = false;
    bool peer_finish_told_ : 1 = false;
    std::uint8_t quiet_rounds_ : 2 = 0;  // of close_when_quiet(), that are left
    bool closing_ : 1 = false;
};

// Ten thousand idle ones are counted on (docs/decisions/).
static_assert(sizeof(void*) != 8 || sizeof(Connection) <= 200);

}  // namespace tiderace::net

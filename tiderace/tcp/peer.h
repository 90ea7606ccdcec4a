// Internal. Peer: one connection of a Server, as its callbacks see it.
//
// Owner    The server. A callback borrows it; it is gone after on_close.
// Thread   Its loop's. Other threads post to loop() and find it there by what on_accept kept.
// Errors   Writing to a peer that is gone is dropped; on_close reports why it is gone.
// Limits   net::ConnectionLimits: a peer that takes too little is cut off.
// Memory   About 140 bytes beside its connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>

#include "tiderace/net/connection.h"
#include "tiderace/net/progress_rate.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/states.h"

namespace tiderace::tcp {

struct Callbacks;

class Peer final : private net::Session {
  public:
    Peer(net::Connection& connection, const Callbacks& callbacks, task::Runner& runner,
         const task::States& states, std::uint64_t receive_bytes_per_second_min);
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    // Copies; what one turn writes leaves together. Backlog::high: wait for on_drained.
    net::Backlog write(ByteView bytes) TR_ON_LOOP;
    // A range of a file, after what was written before. It is opened in this call, which may wait
    // for the disk. The length, or why it is none.
    Result<std::uint64_t> send_file(const std::string& path, std::uint64_t offset = 0,
                                    std::uint64_t bytes_max = UINT64_MAX) TR_ON_LOOP;
    // on_drained comes once the queue is short, however little is in it.
    void want_drained() TR_ON_LOOP;
    // Ends the connection, after all that was written; what the peer still sends is dropped.
    void close() TR_ON_LOOP;
    // Ends our direction, after all that was written; on_data goes on.
    void finish() TR_ON_LOOP;
    // Ends the connection now; queued bytes are dropped.
    void abort() TR_ON_LOOP;
    // While false nothing is read, the peer is pushed back on, and no idle time passes.
    void set_reading(bool on) TR_ON_LOOP;
    // The idle time begins anew, as it does when bytes come. What on_data left unused goes on being
    // waited for at the least rate (ServeOptions::stream).
    void touch() TR_ON_LOOP;
    // For this peer, from now on; 0: none.
    void set_idle_timeout(Duration idle) TR_ON_LOOP;
    bool tune(const net::SocketOptions& options) TR_ON_LOOP;

    const core::Address& address() const { return connection_->peer(); }
    // A client's verified certificate, ALPN, version …; nullptr: in clear text, or before the
    // handshake is over, as in on_accept. on_data comes after it.
    const net::TransportSecurity* security() const { return connection_->security(); }
    std::uint64_t unsent_bytes() const { return connection_->queue_bytes(); }
    core::EventLoop& loop() const { return connection_->loop(); }
    task::Runner& runner() const { return *runner_; }
    net::Connection& connection() const { return *connection_; }  // the waist itself

    // A state of the server: the loop's own, or `const S` for a shared one. One that nobody gave
    // aborts.
    template <typename S>
    S& loop_state() const {
        return states_->get<S>();
    }
    // The program's state for this peer: a T, made at the first call. One type a peer.
    template <typename T>
    T& state() {
        if (state_ == nullptr) state_ = std::make_shared<Kept<T>>();
        TR_CHECK(state_->type == typeid(T), "a peer's state has one type");
        return static_cast<Kept<T>&>(*state_).value;
    }

  private:
    friend class Peers;
    struct AnyState {
        explicit AnyState(const std::type_info& t) : type(t) {}
        virtual ~AnyState() = default;
        const std::type_info& type;
    };
    template <typename T>
    struct Kept final : AnyState {
        Kept() : AnyState(typeid(T)) {}
        T value{};
    };

    template <typename Call>
    bool guard(Call&& call) TR_ON_LOOP;
    net::ProgressRate frame_rate() const;
    void set_deadline() TR_ON_LOOP;
    void accepted() TR_ON_LOOP;
    std::size_t on_data(net::Connection&, ByteView data) TR_ON_LOOP override;
    void on_drained(net::Connection&) TR_ON_LOOP override;
    void on_peer_finished(net::Connection&) TR_ON_LOOP override;
    void on_deadline(net::Connection&) TR_ON_LOOP override;
    void on_close(net::Connection&, net::CloseReason reason) TR_ON_LOOP override;

    net::Connection* connection_;
    const Callbacks* callbacks_;
    task::Runner* runner_;
    const task::States* states_;
    Duration idle_;
    Instant idle_until_ = Instant::max();
    std::uint64_t receive_rate_;
    std::size_t unused_ = 0;  // of a frame that has begun
    net::LagClock slow_;      // runs while a frame is not whole
    std::shared_ptr<AnyState> state_;
};

}  // namespace tiderace::tcp

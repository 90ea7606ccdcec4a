// Internal. Acceptor: takes new connections from one listening socket, on one loop.
//
// It survives a lack of descriptors: a spare one is given up to accept and drop the connection at
// the head of the queue, then accepting rests (100 ms, doubling to 1 s), so that nothing spins.
//
// Owner    A TcpServer, or a listening thread (accept mode "queue").
// Thread   Its loop's.
// Limits   At most BackendOptions::accepts_per_turn_max connections a turn; if accepting is a call,
//          one for each eight that are ready, and at least one (see direct_accept.h).
// Keywords: EMFILE, accept, accept storm
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tiderace/core/event_loop.h"

namespace tiderace::net {

// Sends `words` as far as the kernel takes them now, and closes: for a connection over a limit. It
// does not wait for room, because waiting would take the place that is missing; a new socket's
// buffer has room for a short text.
void refuse_connection(core::Kernel& kernel, int fd, std::string_view words);

class Acceptor final : private core::IoObserver, private core::Timer {
  public:
    class Receiver {
      public:
        // The receiver owns `fd`, a connected non-blocking socket.
        virtual void on_connection(int fd, const core::Address& peer) TR_ON_LOOP = 0;

      protected:
        ~Receiver() = default;
    };

    // No queue of the kernel is longer: `tiderace serve --backlog` ends at 65,535, and Linux allows
    // 4,096 unless net.core.somaxconn is raised.
    static constexpr std::size_t queue_max = 65'536;

    Acceptor(core::EventLoop& loop, core::Descriptor listener, Receiver& receiver);
    ~Acceptor();

    void start() TR_ON_LOOP;
    // Accepts the connections in the kernel's queue, which closing would reset, and closes the
    // socket. Connections beyond `waiting_max` have arrived meanwhile, and are reset.
    void stop(std::size_t waiting_max = queue_max) TR_ON_LOOP;
    // Accepts those that are connecting, and on Linux no others, until stop().
    void turn_newcomers_away() TR_ON_LOOP;
    // Another length of the kernel's queue.
    void set_backlog(int backlog) TR_ON_LOOP;
    // For a while, leaves new connections in the kernel's queue.
    void pause() TR_ON_LOOP;
    void resume() TR_ON_LOOP;

    std::uint64_t accepted() const { return accepted_; }
    // Connections that were dropped because no descriptor was left.
    std::uint64_t shed() const { return shed_; }

  private:
    void on_accepted(int fd, const core::Address& peer) TR_ON_LOOP override;
    void on_accept_failed(int error) TR_ON_LOOP override;
    void on_expired() TR_ON_LOOP override;
    void take_spare();
    void shed_one();
    void log_failure(int error);

    core::EventLoop* loop_;
    Receiver* receiver_;
    core::IoHandle handle_;
    core::Descriptor spare_;
    Duration rest_;
    bool paused_ = false;
    std::uint64_t accepted_ = 0;
    std::uint64_t shed_ = 0;
};

}  // namespace tiderace::net

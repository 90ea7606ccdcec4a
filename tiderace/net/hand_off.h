// HandOff: accepts on one loop and hands the connections to the TcpServers of others, through a
// bounded queue. Accept mode "queue" uses it.
//
//   acceptors on the listening loop -> next server in turn that has room -> its loop's mailbox ->
//   TcpServer::adopt
//
// Owner    The program. Outlives the listening loop's last turn; the servers' loops run while it
//          accepts.
// Thread   The listening loop's; waiting() any.
// Errors   A connection whose loop takes no more posts is sent `refusal` and closed (a 503, for
//          HTTP). One whose loop ends before it took it over is closed.
// Limits   waiting_max connections accepted and not yet taken over, each server an equal share of
//          them, and at least one, so that a loop that is stuck delays only the connections that
//          were given to it. Once all have their share, newcomers wait in the kernel's queue until
//          one server has taken over half of its own: the acceptor reaches this bound in normal
//          operation, so no client is refused for it.
// Keywords: acceptor thread, load balancing
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/net/acceptor.h"
#include "tiderace/net/intake.h"

namespace tiderace::net {

class HandOff final : public Intake, private core::Timer {
  public:
    HandOff(core::EventLoop& loop, std::vector<Target> targets, std::size_t waiting_max,
            std::string refusal);
    ~HandOff() override;

    void listen(core::Descriptor listener) TR_ON_LOOP override {
        add_listener(std::move(listener), false);
    }
    void listen_layered(core::Descriptor listener) TR_ON_LOOP override {
        add_listener(std::move(listener), true);
    }
    void stop() TR_ON_LOOP override;

    std::size_t waiting() const;
    std::uint64_t refused() const override { return refused_; }

  private:
    class Entrance;
    // The number that wait. Shared, because a loop may end, with its posts, after we did.
    using Count = std::atomic<std::size_t>;
    struct Server {
        std::size_t waiting() const { return count->load(std::memory_order_relaxed); }

        Target target;
        std::shared_ptr<Count> count = std::make_shared<Count>(0);
    };
    struct Waiting;

    void add_listener(core::Descriptor listener, bool layered) TR_ON_LOOP;
    void hand_over(int fd, const core::Address& peer, bool layered) TR_ON_LOOP;
    const Server& next_server();
    bool any_waits_for_at_most(std::size_t count) const;
    void refuse(int fd);
    void pause() TR_ON_LOOP;
    void on_expired() TR_ON_LOOP override;

    core::EventLoop* loop_;
    std::vector<Server> servers_;
    std::size_t share_;  // of one server
    std::string refusal_;
    std::vector<std::unique_ptr<Entrance>> entrances_;
    std::size_t next_ = 0;
    std::uint64_t refused_ = 0;
    bool stopping_ = false;
};

}  // namespace tiderace::net

#include "tiderace/net/hand_off.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/contain.h"

namespace tiderace::net {
namespace {

// How often we check whether the other loops have caught up. With half of the connections that may
// wait they are busy for longer than that.
constexpr Duration catching_up = 1ms;

}  // namespace

//
//   accepting --all have their share--> paused, the timer armed --one has half of it--> accepting
//        `------ stop(): what waits in the kernel is accepted, whatever the bound ------> stopped
//
class HandOff::Entrance final : private Acceptor::Receiver {
  public:
    Entrance(HandOff& hand_off, core::Descriptor listener, bool layered)
        : hand_off_(&hand_off),
          layered_(layered),
          acceptor_(*hand_off.loop_, std::move(listener), *this) {
        acceptor_.start();
    }
    void stop() TR_ON_LOOP { acceptor_.stop(); }
    void pause() TR_ON_LOOP { acceptor_.pause(); }
    void resume() TR_ON_LOOP { acceptor_.resume(); }

  private:
    void on_connection(int fd, const core::Address& peer) TR_ON_LOOP override {
        hand_off_->hand_over(fd, peer, layered_);
    }

    HandOff* hand_off_;
    bool layered_;
    Acceptor acceptor_;
};

// A connection on its way from one loop to another: closed, and counted off, wherever it ends.
struct HandOff::Waiting {
    explicit Waiting(std::shared_ptr<Count> c) : count(std::move(c)) {
        // Relaxed: a number to choose by. What it counts travels through the mailbox, under its
        // lock.
        count->fetch_add(1, std::memory_order_relaxed);
    }
    ~Waiting() { count->fetch_sub(1, std::memory_order_relaxed); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    core::Descriptor descriptor;
    core::Address peer;
    std::shared_ptr<Count> count;
};

HandOff::HandOff(core::EventLoop& loop, std::vector<Target> targets, std::size_t waiting_max,
                 std::string refusal)
    : loop_(&loop), refusal_(std::move(refusal)) {
    TR_CHECK(!targets.empty());
    share_ = std::max<std::size_t>(waiting_max / targets.size(), 1);
    for (const Target& each : targets) servers_.push_back({.target = each});
}

HandOff::~HandOff() {
    loop_->cancel(*this);
}

void HandOff::add_listener(core::Descriptor listener, bool layered) {
    entrances_.push_back(std::make_unique<Entrance>(*this, std::move(listener), layered));
}

// Accepts beyond the bound, too: clients in the kernel's queue believe that they are connected.
void HandOff::stop() {
    loop_->cancel(*this);
    stopping_ = true;
    for (auto& entrance : entrances_) entrance->stop();
}

std::size_t HandOff::waiting() const {
    std::size_t sum = 0;
    for (const Server& each : servers_) sum += each.waiting();
    return sum;
}

bool HandOff::any_waits_for_at_most(std::size_t count) const {
    return std::ranges::any_of(servers_, [&](const Server& s) { return s.waiting() <= count; });
}

// If none has room, which is so while stopping, it is the next all the same.
const HandOff::Server& HandOff::next_server() {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        const Server& next = servers_[next_++ % servers_.size()];
        if (next.waiting() < share_) return next;
    }
    return servers_[next_++ % servers_.size()];
}

void HandOff::hand_over(int fd, const core::Address& peer, bool layered) {
    const Server& server = next_server();
    const Target target = server.target;
    TransportLayer* layer = layered ? target.layer : nullptr;
    core::Descriptor descriptor(loop_->kernel(), fd);
    const bool had_memory = core::contain(loop_->log(), "net", "a hand-over", [&] {
        const auto handed = std::make_shared<Waiting>(server.count);
        handed->descriptor = std::move(descriptor);
        handed->peer = peer;
        // The mailbox wakes the loop only if it was empty.
        const bool taken = target.loop->post([handed, layer, target] {
            target.loop->assert_on_loop();
            target.server->adopt(handed->descriptor.release(), handed->peer, layer);
        });
        // A full mailbox: the client is refused here, with a sentence, instead of cut off there.
        if (!taken) descriptor = std::move(handed->descriptor);
    });
    if (descriptor) {
        refuse(descriptor.release());
    } else if (!had_memory) {
        ++refused_;  // closed with what it was to travel in
    }
    if (!any_waits_for_at_most(share_ - 1) && !stopping_) pause();
}

// Connections then wait in the kernel's queue, where they cost us nothing.
void HandOff::pause() {
    for (auto& entrance : entrances_) entrance->pause();
    loop_->arm(*this, loop_->now() + catching_up);
}

void HandOff::on_expired() {
    // Half, not one below the bound: resuming for a single connection would pause again at once.
    if (!any_waits_for_at_most(share_ / 2)) {
        return loop_->arm(*this, loop_->now() + catching_up);
    }
    for (auto& entrance : entrances_) entrance->resume();
}

void HandOff::refuse(int fd) {
    ++refused_;
    refuse_connection(loop_->kernel(), fd, refusal_);
}

}  // namespace tiderace::net

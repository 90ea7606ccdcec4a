#include "tiderace/net/hand_off.h"

#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::net {

class HandOff::Door final : private Acceptor::Receiver {
  public:
    Door(HandOff& hand_off, core::Descriptor listener, bool layered)
        : hand_off_(&hand_off),
          layered_(layered),
          acceptor_(*hand_off.loop_, std::move(listener), *this) {
        acceptor_.start();
    }
    void stop() { acceptor_.stop(); }

  private:
    void on_connection(int fd, const core::Address& peer) override {
        hand_off_->hand_over(fd, peer, layered_);
    }

    HandOff* hand_off_;
    bool layered_;
    Acceptor acceptor_;
};

HandOff::HandOff(core::EventLoop& loop, std::vector<Target> targets, std::size_t waiting_max,
                 std::string refusal)
    : loop_(&loop),
      targets_(std::move(targets)),
      waiting_max_(waiting_max),
      refusal_(std::move(refusal)) {
    TR_CHECK(!targets_.empty());
}

HandOff::~HandOff() = default;

void HandOff::open_door(core::Descriptor listener, bool layered) {
    doors_.push_back(std::make_unique<Door>(*this, std::move(listener), layered));
}

void HandOff::stop() {
    for (auto& door : doors_) door->stop();
}

void HandOff::hand_over(int fd, const core::Address& peer, bool layered) {
    if (waiting_.load(std::memory_order_relaxed) >= waiting_max_) {
        refuse(fd);
        return;
    }
    const Target target = targets_[next_++ % targets_.size()];
    waiting_.fetch_add(1, std::memory_order_relaxed);
    // The address is copied into the task; the mailbox wakes the loop only if it was empty.
    TransportLayer* layer = layered ? target.layer : nullptr;
    const bool taken = target.loop->post([this, fd, layer, server = target.server, copy = peer] {
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        server->adopt(fd, copy, layer);
    });
    if (!taken) {
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        refuse(fd);
    }
}

void HandOff::refuse(int fd) {
    ++refused_;
    refuse_connection(loop_->kernel(), fd, refusal_);
}

}  // namespace tiderace::net

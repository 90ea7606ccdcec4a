#include "tiderace/net/hand_off.h"

#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::net {

HandOff::HandOff(core::EventLoop& loop, std::vector<Target> targets, std::size_t waiting_max,
                 std::string refusal)
    : loop_(&loop),
      targets_(std::move(targets)),
      waiting_max_(waiting_max),
      refusal_(std::move(refusal)) {
    TR_CHECK(!targets_.empty());
}

HandOff::~HandOff() = default;

void HandOff::listen(core::Descriptor listener) {
    acceptors_.push_back(std::make_unique<Acceptor>(*loop_, std::move(listener),
                                                    static_cast<Acceptor::Receiver&>(*this)));
    acceptors_.back()->start();
}

void HandOff::stop() {
    for (auto& acceptor : acceptors_) acceptor->stop();
}

void HandOff::on_connection(int fd, const core::Address& peer) {
    if (waiting_.load(std::memory_order_relaxed) >= waiting_max_) {
        refuse(fd);
        return;
    }
    const Target target = targets_[next_++ % targets_.size()];
    waiting_.fetch_add(1, std::memory_order_relaxed);
    // The address is copied into the task; the mailbox wakes the loop only if it was empty.
    const bool taken = target.loop->post([this, fd, server = target.server, copy = peer] {
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        server->adopt(fd, copy);
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

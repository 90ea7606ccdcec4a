#include "tiderace/http/exchange_door.h"

#include <memory>
#include <mutex>
#include <utility>

#include "tiderace/http/exchange.h"

namespace tiderace::http {

bool ExchangeHandle::post(Call call) const {
    if (door_ == nullptr) return false;
    // Shared, so that a call that the mailbox refuses is destroyed after the lock is released: its
    // destructor may post, too.
    struct Posted {
        std::shared_ptr<ExchangeDoor> door;
        SlotId id;
        Call call;
    };
    const auto posted = std::make_shared<Posted>(Posted{door_, id_, std::move(call)});
    // Held while posting, so that close() cannot return, and the loop end, in between.
    const std::lock_guard held(door_->lock_);
    if (door_->loop_ != nullptr && door_->loop_->post([posted] {
            // Moved, so that it ends on the loop even while the posting thread still has its share.
            Call own = std::move(posted->call);
            posted->door->run(posted->id, own);
        })) {
        return true;
    }
    door_->miss();
    return false;
}

void ExchangeDoor::close() {
    const std::lock_guard held(lock_);
    loop_ = nullptr;
}

// On the loop.
void ExchangeDoor::run(SlotId id, ExchangeHandle::Call& call) {
    const Entry* entry = exchanges_.find(id);
    // Answered or abandoned since: the id's generation does not match any more.
    if (entry == nullptr) return miss();
    const core::Ref<Exchange> exchange(entry->exchange);
    exchange->run([&] { call(*exchange); });
}

}  // namespace tiderace::http

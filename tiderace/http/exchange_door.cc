#include "tiderace/http/exchange_door.h"

#include <utility>

#include "tiderace/http/exchange.h"

namespace tiderace::http {

bool ExchangeHandle::post(Call call) const {
    if (door_ == nullptr) return false;
    // Held while posting, so that close() cannot return, and the loop end, in between.
    const std::lock_guard held(door_->lock_);
    if (door_->loop_ != nullptr &&
        door_->loop_->post(
            [door = door_, id = id_, call = std::move(call)]() mutable { door->run(id, call); })) {
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

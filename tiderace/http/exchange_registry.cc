#include "tiderace/http/exchange_registry.h"

#include <memory>
#include <mutex>
#include <utility>

#include "tiderace/http/exchange.h"

namespace tiderace::http {

bool ExchangeHandle::post(Call call) const {
    if (registry_ == nullptr) return false;
    // Shared, so that a call that the mailbox refuses is destroyed after the lock is released: its
    // destructor may post, too.
    struct Posted {
        std::shared_ptr<ExchangeRegistry> registry;
        SlotId id;
        Call call;
    };
    const auto posted = std::make_shared<Posted>(Posted{registry_, id_, std::move(call)});
    // Held while posting, so that close() cannot return, and the loop end, in between.
    const std::lock_guard held(registry_->lock_);
    if (registry_->loop_ != nullptr && registry_->loop_->post([posted] {
            // Moved, so that it ends on the loop even while the posting thread still has its share.
            Call own = std::move(posted->call);
            posted->registry->run(posted->id, own);
        })) {
        return true;
    }
    registry_->miss();
    return false;
}

void ExchangeRegistry::close() {
    const std::lock_guard held(lock_);
    loop_ = nullptr;
}

// On the loop.
void ExchangeRegistry::run(SlotId id, ExchangeHandle::Call& call) {
    const Entry* entry = exchanges_.find(id);
    // Answered or abandoned since: the id's generation does not match any more.
    if (entry == nullptr) return miss();
    const core::Ref<Exchange> exchange(entry->exchange);
    exchange->run([&] { call(*exchange); });
}

}  // namespace tiderace::http

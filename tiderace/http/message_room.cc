#include "tiderace/http/message_room.h"

namespace tiderace::http {

void MessageRoom::Holder::grow_to(std::size_t bytes) {
    if (bytes <= bytes_) return;
    if (bytes_ == 0) {
        all_->holders_.push_back(*this);
        ++all_->count_;
    }
    all_->bytes_ += bytes - bytes_;
    bytes_ = bytes;
    // A copy, because a holder that is destroyed may be the last owner.
    if (all_->bytes_ > all_->bytes_max_) core::Ref<MessageRoom>(all_)->make_room();
}

void MessageRoom::Holder::shrink_to(std::size_t bytes) {
    if (bytes >= bytes_) return;
    all_->bytes_ -= bytes_ - bytes;
    bytes_ = bytes;
    if (bytes > 0) return;
    unlink();
    --all_->count_;
}

// In one pass, so that a full room costs little for each byte that it takes.
void MessageRoom::make_room() {
    const std::size_t wanted = bytes_max_ - bytes_max_ / 16;
    const std::size_t average = bytes_ / count_;
    std::size_t left = bytes_;
    holders_.for_each([&](Holder& holder) {
        if (left <= wanted || holder.bytes_ < average) return;
        left -= holder.bytes_;
        holder.unlink();
        refused_.push_back(holder);
    });
    // Behind the walk, because a refusal may end a connection, and with it any other holder. Those
    // that are destroyed leave the list by themselves; after an exception the rest is refused with
    // the next.
    while (!refused_.empty()) {
        Holder& holder = refused_.pop_front();
        holders_.push_back(holder);  // it may keep a part
        holder.refuse();
    }
}

}  // namespace tiderace::http
